import type { License } from './license.ts'
import * as s from './schema.ts'
import { type User, userSchema } from './user.ts'

const urls = {
  ...s.each(['html_url', 'url', 'contributors_url', 'deployments_url', 'downloads_url'], s.uri),
  ...s.each(['events_url', 'forks_url', 'git_url', 'languages_url', 'merges_url'], s.uri),
  ...s.each(['stargazers_url', 'subscribers_url', 'subscription_url', 'tags_url'], s.uri),
  ...s.each(['teams_url', 'clone_url', 'hooks_url', 'svn_url'], s.uri),
  ...s.each(['archive_url', 'assignees_url', 'blobs_url', 'branches_url'], s.uriTemplate),
  ...s.each(['collaborators_url', 'comments_url', 'commits_url', 'compare_url'], s.uriTemplate),
  ...s.each(['contents_url', 'git_commits_url', 'git_refs_url', 'git_tags_url'], s.uriTemplate),
  ...s.each(['issue_comment_url', 'issue_events_url', 'issues_url', 'keys_url'], s.uriTemplate),
  ...s.each(['labels_url', 'milestones_url', 'notifications_url', 'pulls_url'], s.uriTemplate),
  ...s.each(['releases_url', 'statuses_url', 'trees_url'], s.uriTemplate),
  ssh_url: s.string.describe('For `git clone`; can have the form `user@host:path`.'),
  mirror_url: s.uri.describe(
    'The source of a mirror; otherwise the address to mirror this repository from.',
  ),
}

const templateRepository = s
  .nullable(s.ref<ExtendedRepository>('extended-repository'))
  .describe('The template of this repository; null if there is none or the caller may not read it.')

export const repositorySchema = s.described(
  'A repository at the time when the migration started.',
  {
    id: s.integer,
    node_id: s.string.describe('An opaque identifier.'),
    name: s.string,
    full_name: s.string.describe('Login of the owner, a slash, and the name.'),
    owner: s.ref<User>('user'),
    ...s.each(['private', 'fork', 'is_template', 'archived', 'disabled'], s.boolean),
    description: s.string.describe('Empty if there is none.'),
    ...urls,
    homepage: s.nullable(s.uri),
    language: s.stringOrNull.describe('The language with the most bytes.'),
    forks_count: s.count,
    ...s.each(['stargazers_count', 'watchers_count', 'open_issues_count'], s.alwaysZero),
    size: s.count.describe('Size on disk in KiB.'),
    default_branch: s.string,
    topics: s.arrayOf(s.string),
    ...s.each(['has_issues', 'has_projects', 'has_wiki', 'has_pages', 'has_downloads'], s.boolean),
    visibility: s.enumOf(['private', 'public']),
    pushed_at: s.dateTime.describe('Time of the newest commit of any ref, in UTC.'),
    ...s.each(['created_at', 'updated_at'], s.dateTime.describe('In UTC.')),
    permissions: s.object(s.each(['admin', 'push', 'pull'], s.boolean), {
      description: 'Permissions of the caller.',
    }),
    template_repository: templateRepository,
  },
)

export const extendedRepositorySchema = s.described('A repository with all of its fields.', {
  ...repositorySchema.properties,
  ...s.each(['allow_rebase_merge', 'allow_squash_merge', 'allow_merge_commit'], s.boolean),
  delete_branch_on_merge: s.boolean,
  temp_clone_token: s.string.describe(
    'For a private repository, a token to clone it with: the password of any user name, for reading only, valid for an hour. Otherwise empty.',
  ),
  ...s.each(['subscribers_count', 'open_issues', 'watchers'], s.alwaysZero),
  ...s.each(['network_count', 'forks'], s.count),
  license: s.nullable(s.ref<License>('license')),
})

/** Declared as an interface because a template is a repository too. */
export interface ExtendedRepository extends s.Static<typeof extendedRepositorySchema> {}

const commit = s.object({ sha: s.string, url: s.uri })
const forkOrigin = s.ref<ExtendedRepository>('extended-repository')

export const fullRepositorySchema = s.object(
  {
    ...extendedRepositorySchema.properties,
    has_discussions: s.literal(false),
    organization: s.ref<User>('user').describe('The owner, if it is an organization.'),
    parent: forkOrigin.describe('The origin of this fork, if the caller may read it.'),
    source: forkOrigin.describe(
      'The earliest repository in the chain of forks that the caller may read.',
    ),
    problem: s.stringOrNull.describe(
      `Why it cannot be exported, as the last sync or \`godwit check\` found; null if they found nothing. ${s.EXTENSION}`,
    ),
  },
  {
    description: 'A repository in its current state.',
    optional: ['organization', 'parent', 'source'],
  },
)

export const branchSchema = s.described('A branch.', {
  name: s.string,
  commit,
  protected: s.boolean.describe(
    'True for the default branch, if the config of the repository denies deletes or non-fast-forwards.',
  ),
})

export const tagSchema = s.described('A tag and the commit that it points to.', {
  name: s.string,
  ...s.each(['zipball_url', 'tarball_url'], s.uri.describe('Not served by this server.')),
  commit,
  node_id: s.string.describe('An opaque identifier.'),
})

export const topicsSchema = s.object({ names: s.arrayOf(s.string) }, { description: 'Topics.' })

export const languagesSchema = s.mapOf(s.count).describe('Bytes by language, the largest first.')

export const collaboratorSchema = s.described('An account that may read or change a repository.', {
  ...userSchema.properties,
  permissions: s.object(s.each(['admin', 'maintain', 'push', 'triage', 'pull'], s.boolean)),
  role_name: s.enumOf(['read', 'triage', 'write', 'maintain', 'admin']),
})

export const licenseContentSchema = s.described('The licence file of a repository.', {
  ...s.each(['name', 'path', 'sha', 'type'], s.string),
  size: s.count.describe('In bytes.'),
  ...s.each(['url', 'html_url', 'git_url'], s.uri),
  download_url: s.nullable(s.uri).describe('Always null.'),
  content: s.string.describe('In base64.'),
  encoding: s.literal('base64'),
  _links: s.object(s.each(['self', 'git', 'html'], s.uri)),
  license: s.nullable(s.ref<License>('license')),
})

export type Repository = s.Static<typeof repositorySchema>
export type FullRepository = s.Static<typeof fullRepositorySchema>
export type Branch = s.Static<typeof branchSchema>
export type Tag = s.Static<typeof tagSchema>
export type Topics = s.Static<typeof topicsSchema>
export type Collaborator = s.Static<typeof collaboratorSchema>
export type LicenseContent = s.Static<typeof licenseContentSchema>
