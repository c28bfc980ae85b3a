import type { ForgePermissions } from '@godwit/hosts/forge/connect-forge'
import { PERMISSIONS, type Permission } from '@godwit/hosts/source'
import { isName } from '@godwit/lib/names'
import { type Account, nameKey } from '../accounts/account.ts'
import { accountFromRow, accountOfForgeOrganization } from '../accounts/account-store.ts'
import type { RecordAudit } from '../accounts/audit-log.ts'
import { membersOf, putMembership, recordMembershipChanges } from '../accounts/membership-store.ts'
import { type Db, statementBatches } from '../db/database.ts'
import { strongerRole } from './repository-metadata.ts'
import { findByName, type IndexedRepository, keyOfEntry, keyOfName } from './repository-store.ts'

interface ReportedPermissions extends Pick<ForgePermissions, 'repositories' | 'organizations'> {
  removal: Removal | undefined
}

/** The account was deleted on the forge, may not sign in there, or may not read anything there without a second factor. */
export type Removal = 'deleted' | 'suspended' | 'refused'

/**
 * Replaces the permissions and memberships that the forge reported for an account. Ignores repositories that are not in the
 * repository index. Call it in a transaction. Returns the organizations that are user accounts here.
 */
export async function replacePermissions(
  tx: Db,
  account: Account,
  { repositories, organizations, removal }: ReportedPermissions,
  { now, record }: { now: number; record: RecordAudit },
): Promise<{ refused: string[] }> {
  const login = nameKey(account.login)
  const permissions = new Map(repositories.map((each) => [keyOfName(each), each.permission]))
  const named = repositories.filter(({ owner, name }) => isName(owner) && isName(name))
  await tx
    .deleteFrom('collaborators')
    .where('login_key', '=', login)
    .where('origin', '=', 'forge')
    .execute()
  const rows = (await findByName(tx, named)).map((entry) => ({
    repository_id: entry.id,
    login_key: login,
    origin: 'forge',
    permission: permissions.get(keyOfEntry(entry))!,
  }))
  for (const batch of statementBatches(rows))
    await tx.insertInto('collaborators').values(batch).execute()
  await recordPermissionsCheck(tx, account, { requestedAt: now, removal })
  return recordMembershipChanges(tx, record, { accountId: account.id, origin: 'forge' }, () =>
    replaceMemberships(tx, account, organizations, now),
  )
}

async function replaceMemberships(
  tx: Db,
  { id }: Account,
  organizations: ForgePermissions['organizations'],
  now: number,
): Promise<{ refused: string[] }> {
  const refused: string[] = []
  await tx
    .deleteFrom('memberships')
    .where('account_id', '=', id)
    .where('origin', '=', 'forge')
    .execute()
  // Sorted, so that transactions that add the same organizations cannot deadlock.
  const named = organizations.filter(({ login }) => isName(login))
  for (const { role, ...each } of named.toSorted((a, b) => (a.login < b.login ? -1 : 1))) {
    const organization = await accountOfForgeOrganization(tx, { ...each, createdAt: now })
    if (!organization) refused.push(each.login)
    else await putMembership(tx, organization, { accountId: id, role }, 'forge')
  }
  return { refused }
}

interface PermissionsCheck {
  requestedAt: number
  removal: Removal | undefined
}

export async function recordPermissionsCheck(
  tx: Db,
  { id }: Account,
  { requestedAt: requested_at, removal: reported }: PermissionsCheck,
): Promise<void> {
  const removal = reported ?? null
  await tx
    .insertInto('forge_permissions')
    .values({ account_id: id, requested_at, removal })
    .onConflict((oc) => oc.column('account_id').doUpdateSet({ requested_at, removal }))
    .execute()
}

/** Returns the time and result of the last check of the account on the forge; minus infinity if there was none. */
export async function lastPermissionsCheck(
  db: Db,
  { id }: Pick<Account, 'id'>,
): Promise<PermissionsCheck> {
  const row = await db
    .selectFrom('forge_permissions')
    .select(['requested_at', 'removal'])
    .where('account_id', '=', id)
    .executeTakeFirst()
  const removal = (row?.removal ?? undefined) as Removal | undefined
  return { requestedAt: row?.requested_at ?? Number.NEGATIVE_INFINITY, removal }
}

/**
 * Returns what the forge granted an account, so that it can be compared with what a token may read: one of the repositories, which is
 * private if there is a private one, and the ids of all organizations.
 */
export async function grantedByForge(db: Db, account: Account) {
  const repository = await db
    .selectFrom('collaborators')
    .innerJoin('repositories', 'repositories.id', 'collaborators.repository_id')
    .innerJoin('accounts', 'accounts.id', 'repositories.owner_id')
    .select(['accounts.login as owner', 'repositories.name'])
    .where('collaborators.login_key', '=', nameKey(account.login))
    .where('collaborators.origin', '=', 'forge')
    .where('repositories.missing_since', 'is', null)
    .orderBy('repositories.private', 'desc')
    .orderBy('repositories.id')
    .limit(1)
    .executeTakeFirst()
  const organizations = await db
    .selectFrom('memberships')
    .innerJoin('accounts', 'accounts.id', 'memberships.organization_id')
    .select('accounts.forge_id')
    .where('memberships.account_id', '=', account.id)
    .where('memberships.origin', '=', 'forge')
    .execute()
  return { repository, organizations: organizations.flatMap(({ forge_id }) => forge_id ?? []) }
}

/** Returns the id of the account on the forge, or null. */
export async function forgeIdOf(db: Db, { id }: Pick<Account, 'id'>): Promise<number | null> {
  const row = await db
    .selectFrom('accounts')
    .select('forge_id')
    .where('id', '=', id)
    .executeTakeFirst()
  return row?.forge_id ?? null
}

/** Returns accounts with a token that was used or created since then; the accounts with the oldest check first. */
export async function recentlySignedIn(db: Db, since: number, limit: number): Promise<Account[]> {
  const rows = await db
    .selectFrom('accounts')
    .leftJoin('forge_permissions', 'forge_permissions.account_id', 'accounts.id')
    .selectAll('accounts')
    .where('type', '=', 'User')
    .where('accounts.id', 'in', (eb) =>
      eb
        .selectFrom('tokens')
        .select('account_id')
        .where('revoked_at', 'is', null)
        .where((eb) => eb.or([eb('last_used_at', '>', since), eb('created_at', '>', since)])),
    )
    .orderBy((eb) => eb.fn.coalesce('forge_permissions.requested_at', eb.lit(0)))
    .orderBy('accounts.id')
    .limit(limit)
    .execute()
  return rows.map(accountFromRow)
}

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
  { id, owner }: IndexedRepository,
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

export const includesPermission = (permission: Permission, required: Permission): boolean =>
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
