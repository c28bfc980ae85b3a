import { ensureOrganization } from '../accounts/account-store.ts'
import {
  organizationsWithMembers,
  removeMemberships,
  replaceMemberships,
} from '../accounts/membership-store.ts'
import type { Db } from '../db/database.ts'
import type { RefusedEntry, StatedMembers } from '../sources/source.ts'

/** Writes down what the source states of an owner's members; returns what is wrong with it. */
export async function storeListedMembers(
  db: Db,
  { owner, members, warnings }: StatedMembers,
  now: number,
): Promise<RefusedEntry[]> {
  if (!members) return warnings
  return db.transaction().execute(async (tx) => {
    const organization = await ensureOrganization(tx, owner, now)
    if (!organization) return [...warnings, { path: owner, reason: isUser(owner) }]
    // Of whom nothing else is known, this much is a fact; when somebody looked here is none.
    const since = { origin: 'file', now: organization.createdAt } as const
    const { refused } = await replaceMemberships(tx, organization, members, since)
    const reason = 'an organization cannot be a member'
    return [...warnings, ...refused.map((login) => ({ path: `${owner}: ${login}`, reason }))]
  })
}

const isUser = (owner: string): string =>
  `a user with tokens, so its members are ignored; \`godwit account set ${owner} --type Organization\` makes it an organization`

/** What was stated of other owners is stated no more. */
export async function deleteOtherMembers(
  db: Db,
  isStillStated: (organization: string) => boolean,
): Promise<void> {
  for (const organization of await organizationsWithMembers(db, 'file')) {
    if (!isStillStated(organization.login)) await removeMemberships(db, organization, 'file')
  }
}
