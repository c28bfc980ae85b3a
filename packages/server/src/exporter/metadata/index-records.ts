import { type Organization, type User, unknownUser } from '@godwit/archive/records/people'
import type { HostUrls } from '@godwit/archive/records/record-urls'
import { emptyProtection, type Repository } from '@godwit/archive/records/repository'
import { toGitHubRecord } from '@godwit/archive/records/write-records'
import { type Account, type Member, nameKey } from '../../accounts/account.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { fullNameOf, type RepositoryMetadata } from '../../repositories/repository-metadata.ts'

/** Records made of the repository index, and the settings of repositories and organizations that a forge does not provide. */

/** An organization and those of its members that the viewer of the archive may see. */
export interface CoveredOrganization {
  account: Account
  members: readonly Member[]
}

/** An account, or a login that a repository lists as collaborator. */
interface Person {
  login: string
  id: number | null
  createdAt: number
}

export const userRecordOf = ({ login, id, createdAt }: Person, addresses: Addresses): User => ({
  ...unknownUser(login),
  avatar: id === null ? null : addresses.avatar(id),
  createdAt: timestamp(createdAt),
})

export const organizationRecordOf = ({ account, members }: CoveredOrganization): Organization => ({
  login: account.login,
  name: account.login,
  description: '',
  website: null,
  location: null,
  email: null,
  // An administrator of a repository is not necessarily a member of its organization.
  members: members.map(({ account: { login }, role }) => ({
    login,
    role: role === 'owner' ? 'admin' : 'direct_member',
    state: 'active',
  })),
  createdAt: timestamp(account.createdAt),
})

export const ORGANIZATION_SETTINGS = {
  /**
   * The defaults of a new GitHub organization, except the first: on a git host, members of an organization may not read its
   * private repositories, so an import must not allow that.
   */
  member_privileges: {
    default_repository_permission: 'none',
    members_can_create_public_repositories: true,
    members_can_create_private_repositories: true,
    members_can_create_internal_repositories: false,
    members_can_invite_outside_collaborators: true,
    allows_private_repository_forking: false,
    members_can_create_pages: true,
    members_can_change_repo_visibility: true,
    members_can_delete_repositories: true,
    members_can_delete_issues: false,
    display_commenter_full_name_setting_enabled: false,
    readers_can_create_discussions: true,
    members_can_create_teams: true,
    members_can_view_dependency_insights: true,
  },
  repository_defaults: {
    repository_default_branch: 'main',
    commit_signoff: false,
    repository_labels: [],
  },
}

/** The address of the wiki is missing: not every archive contains the wiki. */
export const repositoryRecordOf = (
  metadata: RepositoryMetadata,
  migrationOwner: Account,
): Repository => ({
  owner: metadata.owner.login,
  name: metadata.name,
  description: metadata.description,
  website: metadata.homepage,
  private: metadata.private,
  hasIssues: isOn(metadata, 'hasIssues'),
  hasWiki: metadata.hasWiki,
  hasDownloads: isOn(metadata, 'hasDownloads'),
  archived: metadata.archived,
  labels: [],
  collaborators: metadata.collaborators,
  topics: metadata.topics.map((name) => ({
    name,
    creator: creatorOf(metadata, migrationOwner),
    createdAt: preciseTimestamp(metadata.createdAt),
    updatedAt: preciseTimestamp(metadata.updatedAt),
  })),
  defaultBranch: metadata.defaultBranch,
  createdAt: timestamp(metadata.createdAt),
  git: `repositories/${fullNameOf(metadata)}.git`,
})

/** Importers turn off features that are not listed, so a feature is on unless the host turned it off. */
function isOn(metadata: RepositoryMetadata, feature: 'hasIssues' | 'hasDownloads'): boolean {
  return metadata[feature] || !metadata.turnedOff?.includes(feature)
}

export const repositorySettings = (metadata: RepositoryMetadata) => ({
  security_and_analysis: {
    dependency_graph: false,
    vulnerability_alerts: false,
    vulnerability_updates: false,
    advanced_security: false,
    token_scanning: false,
    token_scanning_push_protection: false,
  },
  autolinks: [],
  general_settings: {
    template: metadata.isTemplate,
    allow_forking: true,
    sponsorships: false,
    projects: metadata.hasProjects,
    discussions: false,
    merge_commit: metadata.allowMergeCommit,
    squash_merge: metadata.allowSquashMerge,
    rebase_merge: metadata.allowRebaseMerge,
    auto_merge: false,
    delete_branch_heads: metadata.deleteBranchOnMerge,
    update_branch: false,
    git_lfs_in_archives: false,
  },
  actions_general_settings: {
    actions_disabled: false,
    allows_all_actions: true,
    allows_local_actions_only: false,
    allows_github_owned_actions: false,
    allows_verified_actions: false,
    allows_specific_actions_patterns: false,
    patterns: [],
  },
})

/** Returns everyone that a record links to, sorted by login. */
export function peopleIn(
  migrationOwner: Account,
  repositories: readonly RepositoryMetadata[],
  organizations: readonly CoveredOrganization[],
): Person[] {
  const people = new Map<string, Person>()
  // An organization has its own record with the same address.
  if (migrationOwner.type === 'User') people.set(nameKey(migrationOwner.login), migrationOwner)
  for (const { members } of organizations) {
    for (const { account } of members) people.set(nameKey(account.login), account)
  }
  for (const { owner, collaborators, createdAt } of repositories) {
    if (owner.type === 'User') people.set(nameKey(owner.login), owner)
    for (const { login } of collaborators) {
      const person = people.get(nameKey(login))
      if (!person) people.set(nameKey(login), { login, id: null, createdAt })
      // A login without account is as old as the oldest repository that lists it.
      else if (person.id === null && createdAt < person.createdAt)
        people.set(nameKey(login), { ...person, createdAt })
    }
  }
  return [...people.keys()].sort().map((key) => people.get(key)!)
}

/** The format of timestamps in topics. */
const preciseTimestamp = (at: number): string =>
  `${new Date(at).toISOString().slice(0, 19)}.000+00:00`

const timestamp = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`

/**
 * Git does not know who created a repository. The creator must be a user with a record: the owner, otherwise the owner of the
 * migration, otherwise an administrator.
 */
export function creatorOf(
  { owner, collaborators }: RepositoryMetadata,
  migrationOwner: Account,
): string | null {
  const user = [owner, migrationOwner].find(({ type }) => type === 'User')
  const admin = collaborators.find(({ permission }) => permission === 'admin')
  return user?.login ?? admin?.login ?? null
}

/**
 * Converts git's settings that deny force pushes and deletions to GitHub's protection of the default branch. Git applies them to
 * all branches; the repository's config in the archive has them too.
 */
export function protectedBranchRecords(
  metadata: RepositoryMetadata,
  migrationOwner: Account,
  urls: HostUrls,
) {
  const { denies = [] } = metadata
  if (denies.length === 0) return []
  const rule = {
    ...emptyProtection(fullNameOf(metadata), metadata.defaultBranch),
    creator: creatorOf(metadata, migrationOwner),
    adminEnforced: true,
    allowsForcePushes: !denies.includes('nonFastForwards'),
    allowsDeletions: !denies.includes('deletes'),
  }
  return [toGitHubRecord('protected_branches', rule, urls)]
}

/** Returns the URLs of people and repositories in records: those of the host's own pages. */
export function hostUrlsOf(addresses: Addresses): HostUrls {
  return {
    host: addresses.userHtml('owner').replace(/\/owner$/, ''),
    person: addresses.userHtml,
    repository(fullName) {
      const [owner = '', name = ''] = fullName.split('/')
      return addresses.repository(owner, name).html
    },
  }
}
