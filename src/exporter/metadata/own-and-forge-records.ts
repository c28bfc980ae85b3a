import { type Account, keyOf } from '../../accounts/account.ts'
import { oneLine } from '../../ground/one-line.ts'
import type { Migration } from '../../migrations/migration.ts'
import type { Organization } from '../../records/people.ts'
import type { RecordAddresses } from '../../records/record-addresses.ts'
import type { Repository } from '../../records/repository.ts'
import { writeRecord } from '../../records/write-records.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { fullNameOf, type RepositoryFacts } from '../../repositories/facts.ts'
import type { ArchivedRecords } from '../records/archived-records.ts'
import type { CoveredOrganization } from './covered-organizations.ts'
import { recordAddressesOf } from './host-addresses.ts'
import { organizationRecord, peopleIn, repositoryRecord, userRecord } from './own-records.ts'
import { creatorOf, protectedBranchRecords } from './protected-branches.ts'

/** Records of what both our catalogue and a forge know of: where the forge says something, it counts. */

/** Accounts are compared without regard to case, addresses are not: all links use the forge's spelling. */
export const speltAs = (addresses: Addresses, { spelt }: ArchivedRecords): Addresses => ({
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
  const links = recordAddressesOf(addresses)
  const own = peopleIn(migration.owner, facts, organizations)
  const all = new Map<string, object>(
    own.map((person) => [keyOf(person.login), userRecord(person, addresses)]),
  )
  for (const [key, user] of records?.users ?? []) all.set(key, writeRecord('users', user, links))
  // An organization has a record of its own under the same address.
  for (const key of records?.organizations.keys() ?? []) all.delete(key)
  return [...all.keys()].sort().map((key) => all.get(key)!)
}

export function organizationRecords(
  { organizations, records }: PeopleParts,
  addresses: Addresses,
): object[] {
  const facts = new Map(records?.organizations)
  const covered = organizations.map((each) => {
    const key = keyOf(each.account.login)
    const fact = facts.get(key)
    facts.delete(key)
    return organizationAs(each, fact, addresses)
  })
  // A directory alone does not tell that an owner is an organization.
  const others = [...facts.values()].map((fact) => {
    const account = { login: fact.login, createdAt: Date.parse(fact.createdAt) }
    return organizationAs({ account, members: [] }, fact, addresses)
  })
  return [...covered, ...others]
}

function organizationAs(
  organization: Parameters<typeof organizationRecord>[0],
  fact: Organization | undefined,
  addresses: Addresses,
): object {
  const own = organizationRecord(organization, addresses)
  if (!fact) return own
  const said = writeRecord('organizations', fact, recordAddressesOf(addresses))
  const members = fact.members.length > 0 ? said.members : own.members
  const { name, description, website, location, created_at } = said
  return { ...own, login: fact.login, name, description, website, location, members, created_at }
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
  for (const facts of repositories) {
    const options = { hasWikiInArchive: hasWikiInArchive(facts), migrationOwner }
    const own = repositoryRecord(facts, options, addresses)
    const fact = await records?.repository(fullNameOf(facts))
    yield fact ? { ...own, ...saidOf(fact, creatorOf(facts, migrationOwner), addresses) } : own
  }
}

/** What a forge knows better than a directory of repositories. */
function saidOf(fact: Repository, creator: string | null, addresses: Addresses): object {
  const topics = fact.topics?.map((topic) => ({ ...topic, creator: topic.creator ?? creator }))
  const description = fact.description === null ? null : oneLine(fact.description)
  const said = writeRecord(
    'repositories',
    { ...fact, topics, description },
    recordAddressesOf(addresses),
  )
  return Object.fromEntries(
    SAID_BY_FORGE.filter((name) => said[name] !== undefined).map((name) => [name, said[name]]),
  )
}

const SAID_BY_FORGE = [
  'description',
  'website',
  'private',
  'has_issues',
  'has_wiki',
  'is_archived',
  'labels',
  'collaborators',
  'created_at',
  'repository_topics',
]

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
