import type { InferResult } from 'kysely'
import type { Db } from '../db/database.ts'
import { prepared } from '../db/prepared.ts'
import { isTokenForOtherOwner, nameKey, type Reader } from './account.ts'
import { accountFromRow } from './account-store.ts'

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
      ? await byLogin(db, { ...query, loginKey: nameKey(ref.login) })
      : await byId(db, { ...query, id: ref.id })
  if (!found || isTokenForOtherOwner(reader, found.account)) return undefined
  return {
    account: found.account,
    /** Whether the caller is an owner or a site admin. */
    mayMigrate: found.isOwner || account.siteAdmin,
  }
}

type Query = { accountId: number; isAdmin: number }

const byLogin = prepared(
  (db, query: Query & { loginKey: string }) =>
    visibleRows(db, query).where('login_key', '=', query.loginKey),
  readRows,
)

const byId = prepared(
  (db, query: Query & { id: number }) => visibleRows(db, query).where('accounts.id', '=', query.id),
  readRows,
)

/** Selects one row for each origin of the reader's membership, or one row without a role for a site admin who is not a member. */
function visibleRows(db: Db, { accountId, isAdmin }: Query) {
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

function readRows(rows: InferResult<ReturnType<typeof visibleRows>>) {
  const [row] = rows
  return row && { account: accountFromRow(row), isOwner: rows.some(({ role }) => role === 'owner') }
}
