import * as S from './schema.ts'
import { type User, userSchema } from './user.ts'

export const licenseSchema = S.described(
  'A licence, detected from its text or set by the operator.',
  {
    ...S.each(['key', 'name', 'spdx_id', 'node_id'], S.string),
    ...S.each(['url', 'html_url'], S.uri),
  },
)

export const licenseTextSchema = S.described('A licence with its text.', {
  ...licenseSchema.properties,
  ...S.each(['description', 'implementation'], S.string),
  ...S.each(
    ['permissions', 'conditions', 'limitations'],
    S.arrayOf(S.string).describe('Empty for licences that are not commonly used.'),
  ),
  body: S.string.describe('The text.'),
  featured: S.boolean,
})

export type License = S.Static<typeof licenseSchema>
export type LicenseText = S.Static<typeof licenseTextSchema>

const urls = {
  ...S.each(['html_url', 'url', 'contributors_url', 'deployments_url', 'downloads_url'], S.uri),
  ...S.each(['events_url', 'forks_url', 'git_url', 'languages_url', 'merges_url'], S.uri),
  ...S.each(['stargazers_url', 'subscribers_url', 'subscription_url', 'tags_url'], S.uri),
  ...S.each(['teams_url', 'clone_url', 'hooks_url', 'svn_url'], S.uri),
  ...S.each(['archive_url', 'assignees_url', 'blobs_url', 'branches_url'], S.uriTemplate),
  ...S.each(['collaborators_url', 'comments_url', 'commits_url', 'compare_url'], S.uriTemplate),
  ...S.each(['contents_url', 'git_commits_url', 'git_refs_url', 'git_tags_url'], S.uriTemplate),
  ...S.each(['issue_comment_url', 'issue_events_url', 'issues_url', 'keys_url'], S.uriTemplate),
  ...S.each(['labels_url', 'milestones_url', 'notifications_url', 'pulls_url'], S.uriTemplate),
  ...S.each(['releases_url', 'statuses_url', 'trees_url'], S.uriTemplate),
  ssh_url: S.string.describe('For `git clone`; can have the form `user@host:path`.'),
  mirror_url: S.uri.describe(
    'The source of a mirror; otherwise the address to mirror this repository from.',
  ),
}

const templateRepository = S.nullable(S.ref<ExtendedRepository>('extended-repository')).describe(
  'The template of this repository; null if there is none or the caller may not read it.',
)

export const repositorySchema = S.described(
  'A repository at the time when the migration started.',
  {
    id: S.integer,
    node_id: S.string.describe('An opaque identifier.'),
    name: S.string,
    full_name: S.string.describe('Login of the owner, a slash, and the name.'),
    owner: S.ref<User>('user'),
    ...S.each(['private', 'fork', 'is_template', 'archived', 'disabled'], S.boolean),
    description: S.string.describe('Empty if there is none.'),
    ...urls,
    homepage: S.nullable(S.uri),
    language: S.stringOrNull.describe('The language with the most bytes.'),
    forks_count: S.count,
    ...S.each(['stargazers_count', 'watchers_count', 'open_issues_count'], S.alwaysZero),
    size: S.count.describe('Size on disk in KiB.'),
    default_branch: S.string,
    topics: S.arrayOf(S.string),
    ...S.each(['has_issues', 'has_projects', 'has_wiki', 'has_pages', 'has_downloads'], S.boolean),
    visibility: S.enumOf(['private', 'public']),
    pushed_at: S.dateTime.describe('Time of the newest commit of any ref, in UTC.'),
    ...S.each(['created_at', 'updated_at'], S.dateTime.describe('In UTC.')),
    permissions: S.object(S.each(['admin', 'push', 'pull'], S.boolean), {
      description: 'Permissions of the caller.',
    }),
    template_repository: templateRepository,
  },
)

export const extendedRepositorySchema = S.described('A repository with all of its fields.', {
  ...repositorySchema.properties,
  ...S.each(['allow_rebase_merge', 'allow_squash_merge', 'allow_merge_commit'], S.boolean),
  delete_branch_on_merge: S.boolean,
  temp_clone_token: S.string.describe(
    'For a private repository, a token to clone it with: the password of any user name, for reading only, valid for an hour. Otherwise empty.',
  ),
  ...S.each(['subscribers_count', 'open_issues', 'watchers'], S.alwaysZero),
  ...S.each(['network_count', 'forks'], S.count),
  license: S.nullable(S.ref<License>('license')),
})

/** Declared as an interface because a template is a repository too. */
export interface ExtendedRepository extends S.Static<typeof extendedRepositorySchema> {}

const commit = S.object({ sha: S.string, url: S.uri })
const forkOrigin = S.ref<ExtendedRepository>('extended-repository')

export const fullRepositorySchema = S.object(
  {
    ...extendedRepositorySchema.properties,
    has_discussions: S.literal(false),
    organization: S.ref<User>('user').describe('The owner, if it is an organization.'),
    parent: forkOrigin.describe('The origin of this fork, if the caller may read it.'),
    source: forkOrigin.describe(
      'The earliest repository in the chain of forks that the caller may read.',
    ),
    problem: S.stringOrNull.describe(
      `Why it cannot be exported, as the last sync or \`godwit check\` found; null if they found nothing. ${S.EXTENSION}`,
    ),
  },
  {
    description: 'A repository in its current state.',
    optional: ['organization', 'parent', 'source'],
  },
)

export const branchSchema = S.described('A branch.', {
  name: S.string,
  commit,
  protected: S.boolean.describe(
    'True for the default branch, if the config of the repository denies deletes or non-fast-forwards.',
  ),
})

export const tagSchema = S.described('A tag and the commit that it points to.', {
  name: S.string,
  ...S.each(['zipball_url', 'tarball_url'], S.uri.describe('Not served by this server.')),
  commit,
  node_id: S.string.describe('An opaque identifier.'),
})

export const topicsSchema = S.object({ names: S.arrayOf(S.string) }, { description: 'Topics.' })

export const languagesSchema = S.mapOf(S.count).describe('Bytes by language, the largest first.')

const roleNames = ['read', 'triage', 'write', 'maintain', 'admin'] as const

export const collaboratorSchema = S.described('An account that may read or change a repository.', {
  ...userSchema.properties,
  permissions: S.object(S.each(['admin', 'maintain', 'push', 'triage', 'pull'], S.boolean)),
  role_name: S.enumOf(roleNames),
})

export const collaboratorPermissionSchema = S.described(
  'What an account may do with a repository.',
  {
    permission: S.enumOf(['admin', 'write', 'read', 'none']).describe(
      '`write` for `maintain`, `read` for `triage`.',
    ),
    role_name: S.enumOf([...roleNames, 'none']),
    user: S.object({
      ...collaboratorSchema.properties,
      role_name: S.enumOf([...roleNames, 'none']),
    }),
  },
)

export const licenseContentSchema = S.described('The licence file of a repository.', {
  ...S.each(['name', 'path', 'sha', 'type'], S.string),
  size: S.count.describe('In bytes.'),
  ...S.each(['url', 'html_url', 'git_url'], S.uri),
  download_url: S.nullable(S.uri).describe('Always null.'),
  content: S.string.describe('In base64.'),
  encoding: S.literal('base64'),
  _links: S.object(S.each(['self', 'git', 'html'], S.uri)),
  license: S.nullable(S.ref<License>('license')),
})

export type Repository = S.Static<typeof repositorySchema>
export type FullRepository = S.Static<typeof fullRepositorySchema>
export type Branch = S.Static<typeof branchSchema>
export type Tag = S.Static<typeof tagSchema>
export type Topics = S.Static<typeof topicsSchema>
export type Collaborator = S.Static<typeof collaboratorSchema>
export type CollaboratorPermission = S.Static<typeof collaboratorPermissionSchema>
export type LicenseContent = S.Static<typeof licenseContentSchema>
