import type { User } from '@godwit/archive/records/people'
import { type HostUrls, urlInArchive } from '@godwit/archive/records/record-urls'
import type { Repository } from '@godwit/archive/records/repository'
import { toGitHubRecord } from '@godwit/archive/records/write-records'
import { oneLine } from '@godwit/lib/terminal-text'
import { type Account, nameKey } from '../../accounts/account.ts'
import type { Migration } from '../../migrations/migration.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { fullNameOf, type RepositoryMetadata } from '../../repositories/repository-metadata.ts'
import type { ArchivedRecords } from '../records/archived-records.ts'
import {
  type CoveredOrganization,
  creatorOf,
  hostUrlsOf,
  ORGANIZATION_SETTINGS,
  organizationRecordOf,
  peopleIn,
  protectedBranchRecords,
  repositoryRecordOf,
  repositorySettings,
  userRecordOf,
} from './index-records.ts'

/** GitHub records that merge values of the repository index with those of the forge. If both have a value, the forge's is used. */

/** Logins are case-insensitive, but addresses are not, so all links use the spelling of the forge. */
export const withForgeSpelling = (addresses: Addresses, records: ArchivedRecords): Addresses => ({
  ...addresses,
  userHtml: (login) => addresses.userHtml(records.forgeSpelling(login)),
})

interface PeopleDependencies {
  migration: Pick<Migration, 'owner'>
  organizations: readonly CoveredOrganization[]
  records: ArchivedRecords | undefined
}

/** Returns a record for each person that another record links to, sorted by login. */
export function userRecords(
  { migration, organizations, records }: PeopleDependencies,
  metadata: readonly RepositoryMetadata[],
  addresses: Addresses,
): object[] {
  const all = new Map<string, User>()
  for (const person of peopleIn(migration.owner, metadata, organizations))
    all.set(nameKey(person.login), userRecordOf(person, addresses))
  for (const [key, user] of records?.users ?? []) all.set(key, user)
  // An organization has its own record with the same address.
  for (const key of records?.organizations.keys() ?? []) all.delete(key)
  const urls = hostUrlsOf(addresses)
  return [...all.keys()].sort().map((key) => toGitHubRecord('users', all.get(key)!, urls))
}

export function organizationRecords(
  { organizations, records }: PeopleDependencies,
  urls: HostUrls,
): object[] {
  // Only the forge knows that some owners are organizations: in a directory, they look like users.
  const fromForge = new Map(records?.organizations)
  const covered = organizations.map((each) => {
    const indexed = organizationRecordOf(each)
    const record = fromForge.get(nameKey(indexed.login))
    fromForge.delete(nameKey(indexed.login))
    return record
      ? { ...record, members: record.members.length > 0 ? record.members : indexed.members }
      : indexed
  })
  return [...covered, ...fromForge.values()].map((record) => ({
    ...toGitHubRecord('organizations', record, urls),
    ...ORGANIZATION_SETTINGS,
  }))
}

export const teamRecords = (records: ArchivedRecords, urls: HostUrls): object[] =>
  [...records.teams.values()].map((team) => toGitHubRecord('teams', team, urls))

interface RepositoryOptions {
  hasWikiInArchive(metadata: RepositoryMetadata): boolean
  migrationOwner: Account
}

export async function* repositoryRecords(
  repositories: readonly RepositoryMetadata[],
  records: ArchivedRecords | undefined,
  urls: HostUrls,
  { hasWikiInArchive, migrationOwner }: RepositoryOptions,
): AsyncGenerator<object> {
  for (const metadata of repositories) {
    const indexed = repositoryRecordOf(metadata, migrationOwner)
    const fromForge = await records?.repository(fullNameOf(metadata))
    const record = fromForge
      ? withForgeFields(indexed, fromForge, creatorOf(metadata, migrationOwner))
      : indexed
    yield {
      ...toGitHubRecord('repositories', record, urls),
      ...repositorySettings(metadata),
      // A link to a missing wiki breaks importers.
      ...(hasWikiInArchive(metadata) && {
        wiki_url: urlInArchive(`repositories/${fullNameOf(metadata)}.wiki.git`),
      }),
    }
  }
}

/** Replaces values of the repository index by those of the forge, except names, the default branch and the path of the git data. */
function withForgeFields(
  indexed: Repository,
  fromForge: Repository,
  creator: string | null,
): Repository {
  const { owner, name, defaultBranch, git, topics } = indexed
  return {
    ...indexed,
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
  { migration, records }: PeopleDependencies,
  repositories: readonly RepositoryMetadata[],
  urls: HostUrls,
): AsyncGenerator<object> {
  const written = new Set<unknown>()
  for await (const rule of records?.records('protected_branches', urls) ?? []) {
    written.add(rule.url)
    yield rule
  }
  for (const metadata of repositories)
    for (const rule of protectedBranchRecords(metadata, migration.owner, urls))
      if (!written.has(rule.url)) yield rule
}
