import { anyObject, count, oneOf } from '@godwit/lib/json-shape'
import { type RecordOfRepository, UNKNOWN_TIME } from './record.ts'
import * as field from './record-fields.ts'
import { id, urlInArchive } from './record-urls.ts'

type RepositoryName = { owner: string; name: string }
const fullNameOf = ({ owner, name }: RepositoryName) => `${owner}/${name}`
const repositoryUrl = field.written((repository: RepositoryName, urls) =>
  urls.repository(fullNameOf(repository)),
)

export type Label = ReturnType<typeof labelRecord>
const labelRecord = field.recordFormat({
  url: field.written((label: { name: string }, urls, repository: RepositoryName) =>
    urls.label(fullNameOf(repository), label.name),
  ),
  /** Unique in its repository. Issues refer to labels by name. */
  name: field.string,
  /** Six hex digits without `#`. */
  color: field.string,
  description: field.stringOrNull,
  /** Whether an issue has at most one label of those with the same name up to the last slash. Only Gitea and Forgejo have it. */
  exclusive: field.optional(field.boolean),
  created_at: field.timeOrUnknown,
})

const topicRecord = field.recordFormat({
  topic_url: field.constant(null),
  topic_name: field.named('name', field.string),
  repository: field.written((_topic, urls, repository: RepositoryName) =>
    urls.repository(fullNameOf(repository)),
  ),
  creator: field.personOrNull,
  state: field.constant('created'),
  created_at: field.timeOrUnknown,
  updated_at: field.updatedAt,
})

/** A repository, with those fields of its record that Godwit reads and writes. */
export type Repository = ReturnType<typeof repositoryRecord>
export const repositoryRecord = field.recordFormat({
  type: field.constant('repository'),
  url: repositoryUrl,
  owner: field.person,
  name: field.string,
  description: field.stringOrNull,
  website: field.stringOrNull,
  private: field.boolean,
  has_issues: field.optional(field.boolean),
  has_wiki: field.optional(field.boolean),
  has_downloads: field.optional(field.boolean),
  is_archived: field.named('archived', field.optional(field.boolean)),
  labels: field.listOrEmpty(labelRecord),
  collaborators: field.listOrEmpty(
    field.recordFormat({ user: field.named('login', field.person), permission: field.string }),
  ),
  created_at: field.timeOrUnknown,
  /** The path of the git repository in the archive. */
  git_url: field.named('git', field.storedPath),
  /** Null in a repository without commits. */
  default_branch: field.stringOrNull,
  webhooks: field.constant([]),
  page: field.constant(null),
  public_keys: field.constant([]),
  repository_topics: field.named('topics', field.optional(field.list(topicRecord))),
  general_settings: field.named(
    'template',
    (value, at) => field.optional(templateSetting)(value, at)?.template,
    (template) => ({ template }),
  ),
  /** The path of the wiki's git repository in the archive. Null or undefined if the archive has no wiki. */
  wiki_url: field.named('wiki', field.ifPresent(field.orNull(field.storedPath))),
})

const templateSetting = field.recordFormat({ template: field.optional(field.boolean) })

export const UNKNOWN_REPOSITORY = repositoryRecord(
  {
    owner: 'unknown',
    name: '',
    private: true,
    created_at: UNKNOWN_TIME,
    git_url: urlInArchive(''),
  },
  '',
)

export type Milestone = ReturnType<typeof milestoneRecord>
export const milestoneRecord = field.recordFormat({
  type: field.constant('milestone'),
  /** Unique in its repository. Issues refer to milestones by number. Gitea has no such number, so its id is used. */
  url: field.named('number', id, (number, urls, { repository }: RecordOfRepository) =>
    urls.milestone(repository, number),
  ),
  repository: field.repository,
  user: field.author,
  title: field.string,
  description: field.stringOrNull,
  state: oneOf('open', 'closed'),
  due_on: field.timeOrNull,
  created_at: field.time,
  updated_at: field.updatedAt,
  closed_at: field.timeOrNull,
})

const enforcement = field.withDefault(oneOf('off', 'non_admins', 'everyone'), 'off')
const people = field.listOrEmpty(field.person)
const teams = field.listOrEmpty(field.team)
const contextFormat = field.recordFormat({ context: field.string })

/** A field of the object `group` in the record. */
const grouped =
  <const G extends string>(group: G) =>
  <const N extends string, T>(name: N, item: field.Codec<T>) => {
    type Grouped = { [K in G]: { [K in N]: T } }
    const part: field.Part<Grouped> = {
      read: (read, key, record) =>
        ({ [group]: { ...record[group], [name]: read(key, item) } }) as Grouped,
      write: (record: Grouped, urls, key) => ({
        [key]: field.writeWith(item, record[group][name], urls, record),
      }),
    }
    return part
  }
const review = grouped('reviews')
const statusCheck = grouped('statusChecks')

/** The number of the enforcement level `everyone`. */
const ENFORCED_FOR_EVERYONE = 2

/** The level at which something is blocked that the field `allows` of the record may allow. */
const blockLevel = <const A extends string>(allows: A) =>
  field.written((branch: { [K in A]: boolean }) => (branch[allows] ? 0 : ENFORCED_FOR_EVERYONE))

export type ProtectedBranch = ReturnType<typeof protectedBranchRecord>
export const protectedBranchRecord = field.recordFormat({
  type: field.constant('protected_branch'),
  /** The name of a branch, or a pattern such as `release/*`. */
  name: field.string,
  url: field.written(({ repository, name }: RecordOfRepository & { name: string }, urls) =>
    urls.protectedBranch(repository, name),
  ),
  creator_url: field.named('creator', field.personOrNull),
  repository_url: field.named('repository', field.repository),
  /** Whether the rules apply to administrators too. */
  admin_enforced: field.booleanOrFalse,
  block_deletions_enforcement_level: blockLevel('allowsDeletions'),
  block_force_pushes_enforcement_level: blockLevel('allowsForcePushes'),
  dismiss_stale_reviews_on_push: review('dismissStaleOnPush', field.booleanOrFalse),
  pull_request_reviews_enforcement_level: review('enforcement', enforcement),
  require_code_owner_review: review('byCodeOwners', field.booleanOrFalse),
  required_status_checks_enforcement_level: statusCheck('enforcement', enforcement),
  /** Whether a pull request must be up to date with this branch before it is merged. */
  strict_required_status_checks_policy: statusCheck('strict', field.booleanOrFalse),
  /** Whether only `authorizedUsers` and `authorizedTeams` may push. */
  authorized_actors_only: field.booleanOrFalse,
  authorized_user_urls: field.named('authorizedUsers', people),
  authorized_team_urls: field.named('authorizedTeams', teams),
  dismissal_restricted_user_urls: review('dismissalUsers', people),
  dismissal_restricted_team_urls: review('dismissalTeams', teams),
  required_status_checks: statusCheck(
    'contexts',
    field.listOrEmpty((value, at) =>
      typeof value === 'object' ? contextFormat(value, at).context : field.string(value, at),
    ),
  ),
  requires_approving_reviews: review('required', field.booleanOrFalse),
  required_approving_review_count: review('approvals', field.withDefault(count(), 0)),
  requires_commit_signatures: field.named('requiresSignatures', field.booleanOrFalse),
  requires_linear_history: field.booleanOrFalse,
  allows_force_pushes: field.booleanOrFalse,
  allows_deletions: field.booleanOrFalse,
  requires_status_checks: statusCheck('required', field.booleanOrFalse),
  restricts_review_dismissals: review('restrictsDismissals', field.booleanOrFalse),
  /** The rule as Gitea or Forgejo returns it, because GitHub's archives have no field for all of it. */
  forge_rule: field.optional(anyObject),
})

export const emptyProtection = (repository: string, name: string): ProtectedBranch =>
  protectedBranchRecord({ repository_url: repository, name }, '')
