import type { components } from '@octokit/openapi-types'
import type { Account } from '../../accounts/account.ts'
import type { Migration } from '../../migrations/migration.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { fullNameOf, type RepositoryFacts } from '../../repositories/facts.ts'
import type * as wire from '../../wire/types.ts'
import { remembered } from '../door/json-template.ts'
import { nodeId } from '../door/node-id.ts'
import { utcTimestamp } from '../door/timestamps.ts'
import { licenseJson } from '../repositories/license-json.ts'
import { repositoryAddressesJson } from '../repositories/repository-addresses-json.ts'

type Schemas = components['schemas']

/** Everything that rendering needs beside facts. */
export interface Rendering {
  addresses: Addresses
  migrationTime: (at: number) => string
  /** Another one whenever the same facts would be rendered otherwise: part of every validator. */
  edition: string
}

export function userJson(account: Account, addresses: Addresses) {
  const url = `${addresses.api}/users/${account.login}`
  return {
    login: account.login,
    id: account.id,
    node_id: nodeId(account.type, account.id),
    avatar_url: addresses.avatar(account.id),
    gravatar_id: '',
    url,
    html_url: addresses.userHtml(account.login),
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type: account.type,
    site_admin: account.siteAdmin,
  } satisfies Schemas['simple-user'] & wire.User
}

/** The same as text. Very many migrations and repositories have one owner. */
export const userText = (addresses: Addresses): ((account: Account) => string) =>
  remembered(
    ({ id, login, type, siteAdmin }) => `${id} ${type} ${siteAdmin} ${login}`,
    (account) => JSON.stringify(userJson(account, addresses)),
  )

/** As the list of a migration's repositories has it: plain, but its template extended. */
export function plainRepositoryJson(facts: RepositoryFacts, addresses: Addresses) {
  return {
    ...commonJson(facts, addresses),
    template_repository: templateJson(facts, addresses),
  } satisfies Schemas['minimal-repository'] & WithTemplate & wire.Repository
}

/** As a migration's own record has it. */
export function extendedRepositoryJson(facts: RepositoryFacts, addresses: Addresses) {
  return {
    ...extendedJson(facts, addresses),
    template_repository: templateJson(facts, addresses),
  } satisfies Schemas['repository'] & WithTemplate & wire.ExtendedRepository
}

/** Part of this API's records, though the newest published description has dropped it. */
interface WithTemplate {
  template_repository: Schemas['repository'] | null
}

function templateJson({ template }: RepositoryFacts, addresses: Addresses) {
  return template && { ...extendedJson(template, addresses), template_repository: null }
}

function extendedJson(facts: RepositoryFacts, addresses: Addresses) {
  return {
    ...commonJson(facts, addresses),
    allow_rebase_merge: facts.allowRebaseMerge,
    // A credential: it is put in when an answer is written, for whoever asks, and kept nowhere.
    temp_clone_token: '',
    allow_squash_merge: facts.allowSquashMerge,
    allow_merge_commit: facts.allowMergeCommit,
    delete_branch_on_merge: facts.deleteBranchOnMerge,
    subscribers_count: 0,
    network_count: facts.forksCount,
    license: facts.license === null ? null : licenseJson(facts.license, addresses),
    forks: facts.forksCount,
    open_issues: 0,
    watchers: 0,
  }
}

function commonJson(facts: RepositoryFacts, addresses: Addresses) {
  return {
    id: facts.id,
    node_id: nodeId('Repository', facts.id),
    name: facts.name,
    full_name: fullNameOf(facts),
    owner: userJson(facts.owner, addresses),
    private: facts.private,
    description: facts.description,
    fork: facts.fork,
    ...repositoryAddressesJson(facts, addresses),
    homepage: facts.homepage,
    language: facts.language,
    forks_count: facts.forksCount,
    // A git host keeps no stars, watchers or issues.
    stargazers_count: 0,
    watchers_count: 0,
    size: facts.sizeKib,
    default_branch: facts.defaultBranch,
    open_issues_count: 0,
    is_template: facts.isTemplate,
    topics: facts.topics,
    has_issues: facts.hasIssues,
    has_projects: facts.hasProjects,
    has_wiki: facts.hasWiki,
    has_pages: facts.hasPages,
    has_downloads: facts.hasDownloads,
    archived: facts.archived,
    disabled: facts.disabled,
    visibility: facts.private ? ('private' as const) : ('public' as const),
    pushed_at: utcTimestamp(facts.pushedAt),
    created_at: utcTimestamp(facts.createdAt),
    updated_at: utcTimestamp(facts.updatedAt),
    permissions: facts.permissions,
  }
}

/** Where an account's migrations are. */
export const migrationsAddress = ({ type, login }: Account, { api }: Addresses): string =>
  type === 'Organization' ? `${api}/orgs/${login}/migrations` : `${api}/user/migrations`

export function migrationJson(
  migration: Migration,
  repositories: readonly RepositoryFacts[],
  { addresses, migrationTime }: Rendering,
) {
  const { options } = migration
  const url = `${migrationsAddress(migration.owner, addresses)}/${migration.id}`
  return {
    id: migration.id,
    node_id: nodeId('Migration', migration.id),
    owner: userJson(migration.owner, addresses),
    guid: migration.guid,
    state: migration.state,
    lock_repositories: options.lockRepositories,
    exclude_metadata: options.excludeMetadata,
    exclude_git_data: options.excludeGitData,
    exclude_attachments: options.excludeAttachments,
    exclude_releases: options.excludeReleases,
    exclude_owner_projects: options.excludeOwnerProjects,
    org_metadata_only: options.orgMetadataOnly,
    repositories: repositories.map((facts) => extendedRepositoryJson(facts, addresses)),
    url,
    created_at: migrationTime(migration.createdAt),
    updated_at: migrationTime(migration.updatedAt),
    ...(migration.archiveExpiresAt !== null && { archive_url: `${url}/archive` }),
  } satisfies Schemas['migration'] & wire.Migration
}
