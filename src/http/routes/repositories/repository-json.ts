import type { components } from '@octokit/openapi-types'
import type { Addresses } from '../../../repositories/addresses.ts'
import { fullNameOf, type RepositoryFacts } from '../../../repositories/facts.ts'
import type * as wire from '../../../wire/types.ts'
import { nodeId } from '../../middleware/node-id.ts'
import { utcTimestamp } from '../../middleware/timestamps.ts'
import { licenseJson } from '../licenses/license-json.ts'
import { userJson } from '../users/user-json.ts'
import { repositoryAddressesJson } from './repository-addresses-json.ts'

type Schemas = components['schemas']

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
