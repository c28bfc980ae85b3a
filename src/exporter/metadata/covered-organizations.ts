import type { Account, Member } from '../../accounts/account.ts'
import { membersOf } from '../../accounts/membership-store.ts'
import type { Db } from '../../db/database.ts'
import type { ExportedRepository } from '../../migrations/export-store.ts'

export interface CoveredOrganization {
  account: Account
  members: readonly Member[]
}

/** Returns the named organizations and the owners of the repositories. `owner` is the owner of the archive, undefined for the operator. */
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
    const all = members.get(account.id) ?? []
    return { account, members: !owner || maySee(owner, account, all) ? all : [] }
  })
}

/** An administrator of an organization's repository need not be a member, and then may not see the members. */
function maySee(owner: Account, organization: Account, members: readonly Member[]): boolean {
  return (
    owner.siteAdmin ||
    owner.id === organization.id ||
    members.some(({ account }) => account.id === owner.id)
  )
}
