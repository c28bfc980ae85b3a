import { type Account, nameKey } from '../accounts/account.ts'
import { accountFromRow } from '../accounts/account-store.ts'
import { membersOf } from '../accounts/membership-store.ts'
import type { Db } from '../db/database.ts'
import { PERMISSIONS, type Permission } from '../sources/source.ts'
import { strongerRole } from './facts.ts'
import type { CatalogueEntry } from './repository-store.ts'

export interface ListedCollaborator {
  account: Account
  permission: Permission
  /** Whether the account owns the repository or is a member of the organization that owns it. */
  isInside: boolean
  /** Whether the account is listed for this repository, not only as an owner of the organization. */
  isDirect: boolean
}

/**
 * Returns the owner, the owners of the organization, and the accounts that are listed for the repository. Listed logins
 * without an account are left out: they have no id.
 */
export async function collaboratorsOf(
  db: Db,
  { id, owner }: CatalogueEntry,
): Promise<ListedCollaborator[]> {
  const members = owner.type === 'Organization' ? await membersOf(db, [owner]) : new Map()
  const listed = new Map<number, ListedCollaborator>()
  const inside = new Set<number>([owner.id])
  if (owner.type === 'User')
    listed.set(owner.id, { account: owner, permission: 'admin', isInside: true, isDirect: true })
  for (const { account, role } of members.get(owner.id) ?? []) {
    inside.add(account.id)
    if (role === 'owner')
      listed.set(account.id, { account, permission: 'admin', isInside: true, isDirect: false })
  }
  for (const { account, permission } of await listedFor(db, id)) {
    const known = listed.get(account.id)
    listed.set(account.id, {
      account,
      permission: strongerRole(permission, known?.permission ?? permission),
      isInside: inside.has(account.id),
      isDirect: true,
    })
  }
  return [...listed.values()].sort((a, b) =>
    nameKey(a.account.login) < nameKey(b.account.login) ? -1 : 1,
  )
}

export const isAtLeast = (permission: Permission, required: Permission): boolean =>
  PERMISSIONS.indexOf(permission) >= PERMISSIONS.indexOf(required)

async function listedFor(
  db: Db,
  repositoryId: number,
): Promise<{ account: Account; permission: Permission }[]> {
  const rows = await db
    .selectFrom('collaborators')
    .innerJoin('accounts', 'accounts.login_key', 'collaborators.login_key')
    .selectAll('accounts')
    .select('permission')
    .where('repository_id', '=', repositoryId)
    .where('accounts.type', '=', 'User')
    .execute()
  return rows.map((row) => ({
    account: accountFromRow(row),
    permission: row.permission as Permission,
  }))
}
