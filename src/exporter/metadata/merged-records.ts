import { type Account, nameKey } from '../../accounts/account.ts'
import { oneLine } from '../../lib/terminal-text.ts'
import type { Migration } from '../../migrations/migration.ts'
import type { User } from '../../records/people.ts'
import { type HostUrls, urlInArchive } from '../../records/record-urls.ts'
import type { Repository } from '../../records/repository.ts'
import { toRecord } from '../../records/write-records.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { fullNameOf, type RepositoryFacts } from '../../repositories/facts.ts'
import type { ArchivedRecords } from '../records/archived-records.ts'
import {
  type CoveredOrganization,
  catalogueOrganization,
  catalogueRepository,
  catalogueUser,
  creatorOf,
  hostUrlsOf,
  ORGANIZATION_SETTINGS,
  peopleIn,
  protectedBranchRecords,
  repositorySettings,
} from './catalogue-facts.ts'

/** Records that merge facts from the catalogue with facts from the forge. If both have a value, the forge's is used. */

/** Logins are case-insensitive, but addresses are not, so all links use the spelling of the forge. */
export const withForgeSpelling = (addresses: Addresses, records: ArchivedRecords): Addresses => ({
  ...addresses,
  userHtml: (login) => addresses.userHtml(records.forgeSpelling(login)),
})

interface PeopleParts {
  migration: Pick<Migration, 'owner'>
  organizations: readonly CoveredOrganization[]
  records: ArchivedRecords | undefined
}

/** Returns a record for each person that another record links to, sorted by login. */
export function userRecords(
  { migration, organizations, records }: PeopleParts,
  facts: readonly RepositoryFacts[],
  addresses: Addresses,
): object[] {
  const all = new Map<string, User>()
  for (const person of peopleIn(migration.owner, facts, organizations))
    all.set(nameKey(person.login), catalogueUser(person, addresses))
  for (const [key, user] of records?.users ?? []) all.set(key, user)
  // An organization has its own record with the same address.
  for (const key of records?.organizations.keys() ?? []) all.delete(key)
  const urls = hostUrlsOf(addresses)
  return [...all.keys()].sort().map((key) => toRecord('users', all.get(key)!, urls))
}

export function organizationRecords(
  { organizations, records }: PeopleParts,
  urls: HostUrls,
): object[] {
  // Only the forge knows that some owners are organizations: in a directory, they look like users.
  const fromForge = new Map(records?.organizations)
  const covered = organizations.map((each) => {
    const own = catalogueOrganization(each)
    const fact = fromForge.get(nameKey(own.login))
    fromForge.delete(nameKey(own.login))
    return fact ? { ...fact, members: fact.members.length > 0 ? fact.members : own.members } : own
  })
  return [...covered, ...fromForge.values()].map((fact) => ({
    ...toRecord('organizations', fact, urls),
    ...ORGANIZATION_SETTINGS,
  }))
}

export const teamRecords = (records: ArchivedRecords, urls: HostUrls): object[] =>
  [...records.teams.values()].map((team) => toRecord('teams', team, urls))

interface RepositoryOptions {
  hasWikiInArchive(facts: RepositoryFacts): boolean
  migrationOwner: Account
}

export async function* repositoryRecords(
  repositories: readonly RepositoryFacts[],
  records: ArchivedRecords | undefined,
  urls: HostUrls,
  { hasWikiInArchive, migrationOwner }: RepositoryOptions,
): AsyncGenerator<object> {
  for (const facts of repositories) {
    const own = catalogueRepository(facts, migrationOwner)
    const fromForge = await records?.repository(fullNameOf(facts))
    const fact = fromForge ? withForgeFields(own, fromForge, creatorOf(facts, migrationOwner)) : own
    yield {
      ...toRecord('repositories', fact, urls),
      ...repositorySettings(facts),
      // A link to a missing wiki breaks importers.
      ...(hasWikiInArchive(facts) && {
        wiki_url: urlInArchive(`repositories/${fullNameOf(facts)}.wiki.git`),
      }),
    }
  }
}

/** Replaces facts of the catalogue by those of the forge, except names, the default branch and the path of the git data. */
function withForgeFields(
  own: Repository,
  fromForge: Repository,
  creator: string | null,
): Repository {
  const { owner, name, defaultBranch, git, topics } = own
  return {
    ...own,
    ...fromForge,
    owner,
    name,
    defaultBranch,
    git,
    description: fromForge.description === null ? null : oneLine(fromForge.description),
    topics:
      fromForge.topics?.map((topic) => ({ ...topic, creator: topic.creator ?? creator })) ?? topics,
  }
}

/** If both the forge and git have a rule for a branch, only the forge's is written. */
export async function* branchRecords(
  { migration, records }: PeopleParts,
  repositories: readonly RepositoryFacts[],
  urls: HostUrls,
): AsyncGenerator<object> {
  const written = new Set<unknown>()
  for await (const rule of records?.records('protected_branches', urls) ?? []) {
    written.add(rule.url)
    yield rule
  }
  for (const facts of repositories)
    for (const rule of protectedBranchRecords(facts, migration.owner, urls))
      if (!written.has(rule.url)) yield rule
}
