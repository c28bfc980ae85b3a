import type { InferResult } from 'kysely'
import type { Db } from '../db/database.ts'
import { prepared } from '../db/prepared.ts'
import type { Account, Member, MembershipOrigin } from './account.ts'
import { isTokenForOtherOwner, type MembershipRole, nameKey, type Reader } from './account.ts'
import { accountFromRow, ensureAccount, findAccount } from './account-store.ts'
import type { RecordAudit } from './audit-log.ts'

export type Membership = Awaited<ReturnType<typeof listMemberships>>[number]

/** Returns the memberships of one organization, or of all, with one entry for each origin. They are sorted by login. */
export async function listMemberships(db: Db, organization?: Account) {
  let query = memberships(db)
  if (organization) query = query.where('organizations.id', '=', organization.id)
  const rows = await query.execute()
  return rows.map((row) => ({
    organization: organizationOf(row),
    member: accountFromRow(row),
    role: row.role as MembershipRole,
    origin: row.origin as MembershipOrigin,
  }))
}

/** Returns the members of each organization by its id. */
export async function membersOf(db: Db, organizations: readonly Account[]) {
  const members = new Map<number, Member[]>()
  for (const organization of organizations)
    members.set(organization.id, mergeOrigins(await listMemberships(db, organization), 'member'))
  return members
}

/** Returns the organizations of a viewer in which the token is valid, each with the viewer's role. */
export async function organizationsOf(db: Db, viewer: Reader): Promise<Member[]> {
  const rows = await memberships(db).where('accounts.id', '=', viewer.account.id).execute()
  const all = rows
    .map((row) => ({ organization: organizationOf(row), role: row.role as MembershipRole }))
    .filter(({ organization }) => !isTokenForOtherOwner(viewer, organization))
  return mergeOrigins(all, 'organization')
}

/** Merges the entries of all origins into one for each account: an owner by any origin is an owner. */
function mergeOrigins<K extends string>(
  all: readonly ({ role: MembershipRole } & Record<K, Account>)[],
  key: K,
): Member[] {
  const merged = new Map<number, Member>()
  for (const { role, [key]: account } of all) {
    if (merged.get(account.id)?.role !== 'owner') merged.set(account.id, { account, role })
  }
  return [...merged.values()]
}

export async function putMembership(
  db: Db,
  organization: Account,
  { accountId, role }: { accountId: number; role: MembershipRole },
  origin: MembershipOrigin,
): Promise<void> {
  await db
    .insertInto('memberships')
    .values({ organization_id: organization.id, account_id: accountId, origin, role })
    .onConflict((oc) =>
      oc.columns(['organization_id', 'account_id', 'origin']).doUpdateSet({ role }),
    )
    .execute()
}

/** Returns false if there was no membership of that origin. */
export async function removeMembership(
  db: Db,
  organization: Account,
  member: Account,
  origin: MembershipOrigin,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('memberships')
    .where('organization_id', '=', organization.id)
    .where('account_id', '=', member.id)
    .where('origin', '=', origin)
    .executeTakeFirst()
  return numDeletedRows === 1n
}

/** Replaces all memberships of one origin. Returns the refused logins: organizations cannot be members. Requires a transaction. */
export async function replaceMemberships(
  tx: Db,
  organization: Account,
  members: readonly { login: string; role: MembershipRole }[],
  { origin, now }: { origin: MembershipOrigin; now: number },
): Promise<{ refused: string[] }> {
  await removeMemberships(tx, organization, origin)
  const refused: string[] = []
  // Sorted, so that two processes that add the same accounts cannot deadlock.
  for (const { login, role } of members.toSorted((a, b) => (a.login < b.login ? -1 : 1))) {
    const account = (await findAccount(tx, login)) ?? (await ensureAccount(tx, login, now))
    if (account.type === 'User') {
      await putMembership(tx, organization, { accountId: account.id, role }, origin)
    } else refused.push(login)
  }
  return { refused }
}

export async function removeMemberships(
  tx: Db,
  organization: Pick<Account, 'id'>,
  origin: MembershipOrigin,
): Promise<void> {
  const deletion = tx.deleteFrom('memberships').where('organization_id', '=', organization.id)
  await deletion.where('origin', '=', origin).execute()
}

/** The memberships of one origin, of one organization or of one person. */
type MembershipsOf = { origin: MembershipOrigin } & (
  | { organizationId: number }
  | { accountId: number }
)

/** Runs a change of memberships, and records in the audit log which of them it changed. Requires a transaction. */
export async function recordMembershipChanges<T>(
  tx: Db,
  record: RecordAudit,
  which: MembershipsOf,
  change: () => Promise<T>,
): Promise<T> {
  const before = await rolesByMembership(tx, which)
  const result = await change()
  const after = await rolesByMembership(tx, which)
  const about = (
    { id, login, organization }: { id: number; login: string; organization: string },
    role?: string,
  ) => ({
    subject: `account ${login}`,
    owner: { id, login },
    details: { organization, ...(role !== undefined && { role }), origin: which.origin },
  })
  for (const [key, each] of after)
    if (before.get(key)?.role !== each.role) await record(tx, 'member.put', about(each, each.role))
  for (const [key, each] of before)
    if (!after.has(key)) await record(tx, 'member.remove', about(each))
  return result
}

async function rolesByMembership(tx: Db, { origin, ...of }: MembershipsOf) {
  const query = tx
    .selectFrom('memberships')
    .innerJoin('accounts as organizations', 'organizations.id', 'organization_id')
    .innerJoin('accounts', 'accounts.id', 'account_id')
    .select(['accounts.id', 'accounts.login', 'organization_id', 'role'])
    .select('organizations.login as organization')
    .where('origin', '=', origin)
    .orderBy('organizations.login_key')
    .orderBy('accounts.login_key')
  const rows = await ('accountId' in of
    ? query.where('account_id', '=', of.accountId)
    : query.where('organization_id', '=', of.organizationId)
  ).execute()
  return new Map(rows.map((row) => [`${row.organization_id} ${row.id}`, row]))
}

export async function organizationsWithMembers(db: Db, origin: MembershipOrigin) {
  return db
    .selectFrom('accounts')
    .select(['id', 'login'])
    .where('id', 'in', (eb) =>
      eb.selectFrom('memberships').select('organization_id').where('origin', '=', origin),
    )
    .execute()
}

/** Selects memberships with both accounts, except those of organizations that became users, or of users that became organizations. */
function memberships(db: Db) {
  return db
    .selectFrom('memberships')
    .innerJoin('accounts as organizations', 'organizations.id', 'organization_id')
    .innerJoin('accounts', 'accounts.id', 'account_id')
    .select(['role', 'origin'])
    .selectAll('accounts')
    .select([
      'organizations.id as organization_id',
      'organizations.login as organization_login',
      'organizations.site_admin as organization_site_admin',
      'organizations.created_at as organization_created_at',
    ])
    .where('organizations.type', '=', 'Organization')
    .where('accounts.type', '=', 'User')
    .orderBy('organizations.login_key')
    .orderBy('accounts.login_key')
    .orderBy('origin')
}

type MembershipRow = InferResult<ReturnType<typeof memberships>>[number]

const organizationOf = (row: MembershipRow): Account =>
  accountFromRow({
    id: row.organization_id,
    login: row.organization_login,
    type: 'Organization',
    site_admin: row.organization_site_admin,
    created_at: row.organization_created_at,
  })

/** How a path refers to an organization. */
type OrganizationRef = { login: string } | { id: number }

/**
 * Finds an organization of which the reader is a member; site admins see all. For everybody else, the result, the query and its
 * duration are the same whether the organization exists or not.
 */
export async function findVisibleOrganization(db: Db, reader: Reader, ref: OrganizationRef) {
  const { account } = reader
  const query = { accountId: account.id, isAdmin: Number(account.siteAdmin) }
  const found =
    'login' in ref
      ? await visibleByLogin(db, { ...query, loginKey: nameKey(ref.login) })
      : await visibleById(db, { ...query, id: ref.id })
  if (!found || isTokenForOtherOwner(reader, found.account)) return undefined
  return {
    account: found.account,
    /** Whether the caller is an owner or a site admin. */
    mayMigrate: found.isOwner || account.siteAdmin,
  }
}

type VisibleQuery = { accountId: number; isAdmin: number }

const visibleByLogin = prepared(
  (db, query: VisibleQuery & { loginKey: string }) =>
    visibleRows(db, query).where('login_key', '=', query.loginKey),
  readVisible,
)

const visibleById = prepared(
  (db, query: VisibleQuery & { id: number }) =>
    visibleRows(db, query).where('accounts.id', '=', query.id),
  readVisible,
)

/** Selects one row for each origin of the reader's membership, or one row without a role for a site admin who is not a member. */
function visibleRows(db: Db, { accountId, isAdmin }: VisibleQuery) {
  return db
    .selectFrom('accounts')
    .leftJoin('memberships', (join) =>
      join.onRef('organization_id', '=', 'accounts.id').on('account_id', '=', accountId),
    )
    .selectAll('accounts')
    .select('role')
    .where('type', '=', 'Organization')
    .where((eb) =>
      eb.or([eb('role', 'is not', null), eb(eb.cast<number>(eb.val(isAdmin), 'integer'), '=', 1)]),
    )
}

function readVisible(rows: InferResult<ReturnType<typeof visibleRows>>) {
  const [row] = rows
  return row && { account: accountFromRow(row), isOwner: rows.some(({ role }) => role === 'owner') }
}
