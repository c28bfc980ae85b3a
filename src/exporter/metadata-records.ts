import { type Account, keyOf } from '../accounts/account.ts'
import type { Addresses } from '../repositories/addresses.ts'
import { fullNameOf, type RepositoryFacts } from '../repositories/facts.ts'
import type { CoveredOrganization } from './covered-organizations.ts'

/**
 * The records of a migration archive as importers know them. They bear no ids: a record's URL is its key, and every link
 * from one to another is a URL.
 */

/** A person: an account, or a login that a repository names as its collaborator. */
export interface Person {
  login: string
  id: number | null
  createdAt: number
}

export function userRecord({ login, id, createdAt }: Person, addresses: Addresses) {
  return {
    type: 'user',
    url: addresses.userHtml(login),
    avatar_url: id === null ? null : addresses.avatar(id),
    login,
    name: null,
    bio: null,
    company: null,
    website: null,
    location: null,
    emails: [],
    social_accounts: [],
    billing_plan: null,
    created_at: timestamp(createdAt),
  }
}

export function organizationRecord(
  { account: organization, members }: CoveredOrganization,
  addresses: Addresses,
) {
  return {
    type: 'organization',
    url: addresses.userHtml(organization.login),
    login: organization.login,
    name: organization.login,
    description: '',
    website: null,
    location: null,
    email: null,
    // Stated memberships and nothing else: who administers a repository is no owner of its organization.
    members: members.map(({ account, role }) => ({
      user: addresses.userHtml(account.login),
      role: role === 'owner' ? 'admin' : 'direct_member',
      state: 'active',
    })),
    owners_team: null,
    webhooks: [],
    created_at: timestamp(organization.createdAt),
  }
}

export interface RepositoryRecordOptions {
  /** Whether the archive holds the wiki: a link to one that is not there breaks importers. */
  hasWikiInArchive: boolean
  topicsBy: string
}

export function repositoryRecord(
  facts: RepositoryFacts,
  { hasWikiInArchive, topicsBy }: RepositoryRecordOptions,
  addresses: Addresses,
) {
  const url = addresses.repository(facts.owner.login, facts.name).html
  const inArchive = `tarball://root/repositories/${fullNameOf(facts)}`
  return {
    type: 'repository',
    url,
    owner: addresses.userHtml(facts.owner.login),
    name: facts.name,
    description: facts.description,
    website: facts.homepage,
    private: facts.private,
    has_issues: facts.hasIssues,
    has_wiki: facts.hasWiki,
    has_downloads: facts.hasDownloads,
    is_archived: facts.archived,
    labels: [],
    collaborators: facts.collaborators.map(({ login, permission }) => ({
      user: addresses.userHtml(login),
      permission,
    })),
    created_at: timestamp(facts.createdAt),
    git_url: `${inArchive}.git`,
    default_branch: facts.defaultBranch,
    webhooks: [],
    page: null,
    public_keys: [],
    repository_topics: facts.topics.map((topic) => ({
      topic_url: null,
      topic_name: topic,
      repository: url,
      creator: addresses.userHtml(topicsBy),
      state: 'created',
      created_at: timestamp(facts.createdAt),
      updated_at: timestamp(facts.updatedAt),
    })),
    autolinks: [],
    general_settings: {
      template: facts.isTemplate,
      projects: facts.hasProjects,
      merge_commit: facts.allowMergeCommit,
      squash_merge: facts.allowSquashMerge,
      rebase_merge: facts.allowRebaseMerge,
      delete_branch_heads: facts.deleteBranchOnMerge,
    },
    ...(hasWikiInArchive && { wiki_url: `${inArchive}.wiki.git` }),
  }
}

/** Everyone whom another record links to, once each, in order of login. */
export function peopleIn(
  migrationOwner: Account,
  repositories: readonly RepositoryFacts[],
  organizations: readonly CoveredOrganization[],
): Person[] {
  const people = new Map<string, Person>()
  // An organization has a record of its own under the same address.
  if (migrationOwner.type === 'User') people.set(keyOf(migrationOwner.login), migrationOwner)
  for (const { members } of organizations) {
    for (const { account } of members) people.set(keyOf(account.login), account)
  }
  for (const { owner, collaborators, createdAt } of repositories) {
    if (owner.type === 'User') people.set(keyOf(owner.login), owner)
    for (const { login } of collaborators) {
      const key = keyOf(login)
      if (!people.has(key)) people.set(key, { login, id: null, createdAt })
    }
  }
  return [...people.keys()].sort().map((key) => people.get(key)!)
}

const timestamp = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`
