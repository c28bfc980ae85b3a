import type { Account } from '../../accounts/account.ts'
import type { Member } from '../../accounts/membership.ts'
import { membersOf } from '../../accounts/membership-store.ts'
import type { Db } from '../../db/database.ts'
import type { ExportedRepository } from '../../migrations/export-store.ts'

export interface CoveredOrganization {
  account: Account
  /** Those that may be told to whoever gets the archive. */
  members: readonly Member[]
}

/** The named ones and each that owns one of the repositories. `owner` is whose archive it is; without one, the operator's. */
export async function coveredOrganizations(
  db: Db,
  named: readonly Account[],
  repositories: readonly ExportedRepository[],
  owner?: Account,
): Promise<CoveredOrganization[]> {
  const owners = repositories.flatMap(({ facts, reason }) => (reason === null ? facts.owner : []))
  const all = [...named, ...owners.filter(({ type }) => type === 'Organization')]
  const accounts = [...new Map(all.map((account) => [account.id, account])).values()]
  const members = await membersOf(db, accounts)
  return accounts.map((account) => {
    const those = members.get(account.id) ?? []
    return { account, members: !owner || maySee(owner, account, those) ? those : [] }
  })
}

/** Who administers a repository of an organization need not be one of its members, and is not told who they are. */
function maySee(owner: Account, organization: Account, members: readonly Member[]): boolean {
  return (
    owner.siteAdmin ||
    owner.id === organization.id ||
    members.some(({ account }) => account.id === owner.id)
  )
}
