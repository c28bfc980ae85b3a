import { type Account, keyOf } from '../../accounts/account.ts'
import { oneLine } from '../../lib/one-line.ts'
import type { Migration } from '../../migrations/migration.ts'
import type { User } from '../../records/people.ts'
import type { RecordAddresses } from '../../records/record-addresses.ts'
import { addressInArchive } from '../../records/record-addresses.ts'
import type { Repository } from '../../records/repository.ts'
import { writeRecord } from '../../records/write-records.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { fullNameOf, type RepositoryFacts } from '../../repositories/facts.ts'
import type { ArchivedRecords } from '../records/archived-records.ts'
import type { CoveredOrganization } from './covered-organizations.ts'
import {
  creatorOf,
  ORGANIZATION_SETTINGS,
  ownOrganization,
  ownRepository,
  ownUser,
  peopleIn,
  protectedBranchRecords,
  recordAddressesOf,
  repositorySettings,
} from './own-facts.ts'

/** Records of what both our catalogue and a forge know of: where the forge says something, it counts. */

/** Accounts are compared without regard to case, addresses are not: all links use the forge's spelling. */
export const withForgeSpelling = (addresses: Addresses, { spelt }: ArchivedRecords): Addresses => ({
  ...addresses,
  userHtml: (login) => addresses.userHtml(spelt(login)),
})

interface PeopleParts {
  migration: Pick<Migration, 'owner'>
  organizations: readonly CoveredOrganization[]
  records: ArchivedRecords | undefined
}

/** Everyone whom another record links to, once each, in order of login. */
export function userRecords(
  { migration, organizations, records }: PeopleParts,
  facts: readonly RepositoryFacts[],
  addresses: Addresses,
): object[] {
  const all = new Map<string, User>()
  for (const person of peopleIn(migration.owner, facts, organizations))
    all.set(keyOf(person.login), ownUser(person, addresses))
  for (const [key, user] of records?.users ?? []) all.set(key, user)
  // An organization has a record of its own under the same address.
  for (const key of records?.organizations.keys() ?? []) all.delete(key)
  const links = recordAddressesOf(addresses)
  return [...all.keys()].sort().map((key) => writeRecord('users', all.get(key)!, links))
}

export function organizationRecords(
  { organizations, records }: PeopleParts,
  addresses: Addresses,
): object[] {
  // A directory alone does not tell that an owner is an organization: some are only the forge's.
  const said = new Map(records?.organizations)
  const covered = organizations.map((each) => {
    const own = ownOrganization(each)
    const fact = said.get(keyOf(own.login))
    said.delete(keyOf(own.login))
    return fact ? { ...fact, members: fact.members.length > 0 ? fact.members : own.members } : own
  })
  const links = recordAddressesOf(addresses)
  return [...covered, ...said.values()].map((fact) => ({
    ...writeRecord('organizations', fact, links),
    ...ORGANIZATION_SETTINGS,
  }))
}

export const teamRecords = (records: ArchivedRecords, links: RecordAddresses): object[] =>
  [...records.teams.values()].map((team) => writeRecord('teams', team, links))

interface RepositoryOptions {
  hasWikiInArchive(facts: RepositoryFacts): boolean
  migrationOwner: Account
}

export async function* repositoryRecords(
  repositories: readonly RepositoryFacts[],
  records: ArchivedRecords | undefined,
  addresses: Addresses,
  { hasWikiInArchive, migrationOwner }: RepositoryOptions,
): AsyncGenerator<object> {
  const links = recordAddressesOf(addresses)
  for (const facts of repositories) {
    const own = ownRepository(facts, migrationOwner)
    const said = await records?.repository(fullNameOf(facts))
    const fact = said ? withSaid(own, said, creatorOf(facts, migrationOwner)) : own
    yield {
      ...writeRecord('repositories', fact, links),
      ...repositorySettings(facts),
      // A link to a wiki that is not there breaks importers.
      ...(hasWikiInArchive(facts) && { wiki_url: addressInArchive(wikiPathOf(facts)) }),
    }
  }
}

const wikiPathOf = (facts: RepositoryFacts): string => `repositories/${fullNameOf(facts)}.wiki.git`

/** What a forge knows better than a directory of repositories. */
function withSaid(own: Repository, said: Repository, creator: string | null): Repository {
  const { owner, name, defaultBranch, git, topics } = own
  return {
    ...own,
    ...said,
    owner,
    name,
    defaultBranch,
    git,
    description: said.description === null ? null : oneLine(said.description),
    topics:
      said.topics?.map((topic) => ({ ...topic, creator: topic.creator ?? creator })) ?? topics,
  }
}

/** A rule of the forge goes before git's own for the same branch. */
export async function* branchRecords(
  { migration, records }: PeopleParts,
  repositories: readonly RepositoryFacts[],
  addresses: Addresses,
  links: RecordAddresses,
): AsyncGenerator<object> {
  const said = new Set<unknown>()
  for await (const rule of records?.records('protected_branches', links) ?? []) {
    said.add(rule.url)
    yield rule
  }
  for (const facts of repositories)
    for (const rule of protectedBranchRecords(facts, migration.owner, addresses))
      if (!said.has(rule.url)) yield rule
}
