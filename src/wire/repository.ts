import type { License } from './license.ts'
import {
  arrayOf,
  boolean,
  count,
  dateTime,
  each,
  enumOf,
  integer,
  literal,
  mapOf,
  nullable,
  object,
  ref,
  type Static,
  string,
  uri,
  uriTemplate,
} from './schema.ts'
import { type User, userSchema } from './user.ts'

const urls = {
  html_url: uri,
  url: uri,
  archive_url: uriTemplate,
  assignees_url: uriTemplate,
  blobs_url: uriTemplate,
  branches_url: uriTemplate,
  collaborators_url: uriTemplate,
  comments_url: uriTemplate,
  commits_url: uriTemplate,
  compare_url: uriTemplate,
  contents_url: uriTemplate,
  contributors_url: uri,
  deployments_url: uri,
  downloads_url: uri,
  events_url: uri,
  forks_url: uri,
  git_commits_url: uriTemplate,
  git_refs_url: uriTemplate,
  git_tags_url: uriTemplate,
  git_url: uri,
  issue_comment_url: uriTemplate,
  issue_events_url: uriTemplate,
  issues_url: uriTemplate,
  keys_url: uriTemplate,
  labels_url: uriTemplate,
  languages_url: uri,
  merges_url: uri,
  milestones_url: uriTemplate,
  notifications_url: uriTemplate,
  pulls_url: uriTemplate,
  releases_url: uriTemplate,
  ssh_url: { ...string, description: 'For `git clone`; can have the form `user@host:path`.' },
  stargazers_url: uri,
  statuses_url: uriTemplate,
  subscribers_url: uri,
  subscription_url: uri,
  tags_url: uri,
  teams_url: uri,
  trees_url: uriTemplate,
  clone_url: uri,
  mirror_url: {
    ...uri,
    description: 'The source of a mirror; otherwise the address to mirror this repository from.',
  },
  hooks_url: uri,
  svn_url: uri,
}

const templateRepository = {
  ...nullable(ref<ExtendedRepository>('extended-repository')),
  description:
    'The template of this repository; null if there is none or the caller may not read it.',
}

const alwaysZero = { ...count, description: 'Always 0: Godwit does not count these.' }

export const repositorySchema = object(
  {
    id: integer,
    node_id: { ...string, description: 'An opaque identifier.' },
    name: string,
    full_name: { ...string, description: 'Login of the owner, a slash, and the name.' },
    owner: ref<User>('user'),
    ...each(['private', 'fork', 'is_template', 'archived', 'disabled'], boolean),
    description: { ...string, description: 'Empty if there is none.' },
    ...urls,
    homepage: nullable(uri),
    language: { ...nullable(string), description: 'The language with the most bytes.' },
    forks_count: count,
    ...each(['stargazers_count', 'watchers_count', 'open_issues_count'], alwaysZero),
    size: { ...count, description: 'Size on disk in KiB.' },
    default_branch: string,
    topics: arrayOf(string),
    ...each(['has_issues', 'has_projects', 'has_wiki', 'has_pages', 'has_downloads'], boolean),
    visibility: enumOf(['private', 'public']),
    pushed_at: { ...dateTime, description: 'Time of the newest commit of any ref, in UTC.' },
    ...each(['created_at', 'updated_at'], { ...dateTime, description: 'In UTC.' }),
    permissions: object(each(['admin', 'push', 'pull'], boolean), {
      description: 'Permissions of the caller.',
    }),
    template_repository: templateRepository,
  },
  { description: 'A repository at the time when the migration started.' },
)

export const extendedRepositorySchema = object(
  {
    ...repositorySchema.properties,
    ...each(['allow_rebase_merge', 'allow_squash_merge', 'allow_merge_commit'], boolean),
    delete_branch_on_merge: boolean,
    temp_clone_token: {
      ...string,
      description:
        'For a private repository, a token to clone it with: the password of any user name, for reading only, valid for an hour. Otherwise empty.',
    },
    ...each(['subscribers_count', 'open_issues', 'watchers'], alwaysZero),
    ...each(['network_count', 'forks'], count),
    license: nullable(ref<License>('license')),
  },
  { description: 'A repository with all of its fields.' },
)

/** Declared as an interface because a template is a repository too. */
export interface ExtendedRepository extends Static<typeof extendedRepositorySchema> {}

const commit = object({ sha: string, url: uri })
const forkOrigin = ref<ExtendedRepository>('extended-repository')

export const fullRepositorySchema = object(
  {
    ...extendedRepositorySchema.properties,
    has_discussions: literal(false),
    organization: { ...ref<User>('user'), description: 'The owner, if it is an organization.' },
    parent: { ...forkOrigin, description: 'The origin of this fork, if the caller may read it.' },
    source: {
      ...forkOrigin,
      description: 'The earliest repository in the chain of forks that the caller may read.',
    },
  },
  {
    description: 'A repository in its current state.',
    optional: ['organization', 'parent', 'source'],
  },
)

export const branchSchema = object(
  {
    name: string,
    commit,
    protected: {
      ...boolean,
      description:
        'True for the default branch, if the config of the repository denies deletes or non-fast-forwards.',
    },
  },
  { description: 'A branch.' },
)

export const tagSchema = object(
  {
    name: string,
    ...each(['zipball_url', 'tarball_url'], { ...uri, description: 'Not served by this server.' }),
    commit,
    node_id: { ...string, description: 'An opaque identifier.' },
  },
  { description: 'A tag and the commit that it points to.' },
)

export const topicsSchema = object({ names: arrayOf(string) }, { description: 'Topics.' })

export const languagesSchema = {
  ...mapOf(count),
  description: 'Bytes by language, the largest first.',
}

export const collaboratorSchema = object(
  {
    ...userSchema.properties,
    permissions: object(each(['admin', 'maintain', 'push', 'triage', 'pull'], boolean)),
    role_name: enumOf(['read', 'triage', 'write', 'maintain', 'admin']),
  },
  { description: 'An account that may read or change a repository.' },
)

export const licenseContentSchema = object(
  {
    ...each(['name', 'path', 'sha', 'type'], string),
    size: { ...count, description: 'In bytes.' },
    ...each(['url', 'html_url', 'git_url'], uri),
    download_url: { ...nullable(uri), description: 'Always null.' },
    content: { ...string, description: 'In base64.' },
    encoding: literal('base64'),
    _links: object(each(['self', 'git', 'html'], uri)),
    license: nullable(ref<License>('license')),
  },
  { description: 'The licence file of a repository.' },
)

export type Repository = Static<typeof repositorySchema>
export type FullRepository = Static<typeof fullRepositorySchema>
export type Branch = Static<typeof branchSchema>
export type Tag = Static<typeof tagSchema>
export type Topics = Static<typeof topicsSchema>
export type Languages = Static<typeof languagesSchema>
export type Collaborator = Static<typeof collaboratorSchema>
export type LicenseContent = Static<typeof licenseContentSchema>
