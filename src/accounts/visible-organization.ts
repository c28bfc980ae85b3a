import type { Db } from '../db/database.ts'
import { prepared } from '../db/prepared.ts'
import { type Account, keyOf, type Viewer } from './account.ts'
import { accountOf } from './account-store.ts'

/** How an organization is named in a path. */
export type OrganizationName = { login: string } | { id: number }

export interface VisibleOrganization {
  account: Account
  /** As an owner, or as a site admin. */
  mayMigrate: boolean
}

/**
 * An organization, for its members and for site admins. To everyone else it is not there: one question is asked and nothing is
 * remembered, whether it exists or not, so that nobody can tell.
 */
export async function findVisibleOrganization(
  db: Db,
  { account }: Pick<Viewer, 'account'> & Partial<Viewer>,
  name: OrganizationName,
): Promise<VisibleOrganization | undefined> {
  const asked = { accountId: account.id, isAdmin: Number(account.siteAdmin) }
  const seen =
    'login' in name
      ? await byLogin(db, { ...asked, loginKey: keyOf(name.login) })
      : await byId(db, { ...asked, id: name.id })
  return seen && { account: seen.account, mayMigrate: seen.isOwner || account.siteAdmin }
}

interface Asked {
  accountId: number
  isAdmin: number
}

const byLogin = prepared(
  (db, asked: Asked & { loginKey: string }) =>
    seenBy(db, asked).where('login_key', '=', asked.loginKey),
  read,
)

const byId = prepared(
  (db, asked: Asked & { id: number }) => seenBy(db, asked).where('accounts.id', '=', asked.id),
  read,
)

/** A row for everyone who states a membership. */
function seenBy(db: Db, { accountId, isAdmin }: Asked) {
  return db
    .selectFrom('accounts')
    .leftJoin('memberships', (join) =>
      join.onRef('organization_id', '=', 'accounts.id').on('account_id', '=', accountId),
    )
    .selectAll('accounts')
    .select('role')
    .where('type', '=', 'Organization')
    .where((is) =>
      is.or([is('role', 'is not', null), is(is.cast<number>(is.val(isAdmin), 'integer'), '=', 1)]),
    )
}

type SeenRow = Awaited<ReturnType<ReturnType<typeof seenBy>['execute']>>[number]

function read(rows: SeenRow[]) {
  const [row] = rows
  return row && { account: accountOf(row), isOwner: rows.some(({ role }) => role === 'owner') }
}
