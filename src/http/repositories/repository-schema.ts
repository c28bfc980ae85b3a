import {
  address,
  addressOrNull,
  addressTemplate,
  all,
  count,
  flag,
  integer,
  type JsonSchema,
  listOf,
  moment,
  orNull,
  recordOf,
  schemaNamed,
  text,
  textOrNull,
} from '../description/json-schema.ts'
import type { repositoryAddressesJson } from './repository-addresses-json.ts'

/** Which of a repository's addresses can be followed as they are, and which are templates. */
const repositoryAddressesSchema: Record<
  keyof ReturnType<typeof repositoryAddressesJson>,
  JsonSchema
> = {
  html_url: address,
  url: address,
  archive_url: addressTemplate,
  assignees_url: addressTemplate,
  blobs_url: addressTemplate,
  branches_url: addressTemplate,
  collaborators_url: addressTemplate,
  comments_url: addressTemplate,
  commits_url: addressTemplate,
  compare_url: addressTemplate,
  contents_url: addressTemplate,
  contributors_url: address,
  deployments_url: address,
  downloads_url: address,
  events_url: address,
  forks_url: address,
  git_commits_url: addressTemplate,
  git_refs_url: addressTemplate,
  git_tags_url: addressTemplate,
  git_url: address,
  issue_comment_url: addressTemplate,
  issue_events_url: addressTemplate,
  issues_url: addressTemplate,
  keys_url: addressTemplate,
  labels_url: addressTemplate,
  languages_url: address,
  merges_url: address,
  milestones_url: addressTemplate,
  notifications_url: addressTemplate,
  pulls_url: addressTemplate,
  releases_url: addressTemplate,
  ssh_url: { ...text, description: 'For `git clone`; can have the form `user@host:path`.' },
  stargazers_url: address,
  statuses_url: addressTemplate,
  subscribers_url: address,
  subscription_url: address,
  tags_url: address,
  teams_url: address,
  trees_url: addressTemplate,
  clone_url: address,
  mirror_url: {
    ...address,
    description: 'The source of a mirror; otherwise the address to mirror this repository from.',
  },
  hooks_url: address,
  svn_url: address,
}

const notKept = { ...count, description: 'Always 0: a git host has none.' }

export const repositorySchema = recordOf(
  {
    id: integer,
    node_id: { ...text, description: 'Opaque.' },
    name: text,
    full_name: { ...text, description: 'Login of the owner, a slash, and the name.' },
    owner: schemaNamed('user'),
    ...all(['private', 'fork', 'is_template', 'archived', 'disabled'], flag),
    description: { ...text, description: 'Empty if there is none.' },
    ...repositoryAddressesSchema,
    homepage: addressOrNull,
    language: { ...textOrNull, description: 'The language with the most bytes.' },
    forks_count: count,
    ...all(['stargazers_count', 'watchers_count', 'open_issues_count'], notKept),
    size: { ...count, description: 'Size on disk in KiB.' },
    default_branch: text,
    topics: listOf(text),
    ...all(['has_issues', 'has_projects', 'has_wiki', 'has_pages', 'has_downloads'], flag),
    visibility: { ...text, enum: ['private', 'public'] },
    pushed_at: { ...moment, description: 'Time of the newest commit of any ref, in UTC.' },
    ...all(['created_at', 'updated_at'], { ...moment, description: 'In UTC.' }),
    permissions: recordOf(all(['admin', 'push', 'pull'], flag), {
      description: 'Permissions of the caller.',
    }),
    template_repository: {
      ...orNull(schemaNamed('extended-repository')),
      description:
        'The template of this repository; null if there is none or the caller may not read it.',
    },
  },
  { description: 'A repository at the time when the migration started.' },
)

export const extendedRepositorySchema = recordOf(
  {
    ...repositorySchema.properties,
    ...all(['allow_rebase_merge', 'allow_squash_merge', 'allow_merge_commit'], flag),
    delete_branch_on_merge: flag,
    temp_clone_token: {
      ...text,
      description:
        'For a private repository, a token to clone it with: the password of any user name, for reading only, valid for an hour. Otherwise empty.',
    },
    ...all(['subscribers_count', 'open_issues', 'watchers'], notKept),
    ...all(['network_count', 'forks'], count),
    license: orNull(schemaNamed('license')),
  },
  { description: 'A repository with all fields.' },
)
