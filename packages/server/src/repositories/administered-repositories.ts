import { sql } from 'kysely'
import { type Account, type AccountType, nameKey, type Viewer } from '../accounts/account.ts'
import { accountFromRow } from '../accounts/account-store.ts'
import { countRows, type Db } from '../db/database.ts'
import { findById, type IndexedRepository } from './repository-store.ts'
import { readableBy } from './visible-repository.ts'

export const affiliations = ['owner', 'collaborator', 'organization_member'] as const
/** Whether the repository belongs to the viewer, to another user, or to an organization. */
export type Affiliation = (typeof affiliations)[number]

export interface RepositoryFilter {
  /** At least one. */
  affiliations: readonly Affiliation[]
  isPrivate?: boolean
  isFork?: boolean
  /** Exclusive limits. */
  updatedAfter?: number
  updatedBefore?: number
  /** A part of `owner/name`; case is ignored. */
  nameContains?: string | undefined
  /** A part of the name without the owner; case is ignored. */
  ownNameContains?: string | undefined
  /** Only repositories that cannot be exported, as the last sync or `godwit check` found. */
  isDamaged?: true
  /** Only repositories that the account with this id may read. */
  readableBy?: number | undefined
}

export interface RepositoryOrder {
  by: 'created' | 'updated' | 'pushed' | 'full_name'
  direction: 'asc' | 'desc'
}

/** Returns a page of the repositories that the viewer owns or administers, and so may migrate. */
export async function listAdministered(
  db: Db,
  viewer: Pick<Viewer, 'account'>,
  filter: RepositoryFilter,
  { order, offset, limit }: { order: RepositoryOrder; offset: number; limit: number },
): Promise<IndexedRepository[]> {
  // The ids of the page come from an index alone. Only their rows are read.
  let query = administered(db, viewer, filter).select('id')
  for (const column of COLUMNS[order.by]) query = query.orderBy(column, order.direction)
  const page = await query.orderBy('id', order.direction).limit(limit).offset(offset).execute()
  return findById(
    db,
    page.map(({ id }) => id),
  )
}

const COLUMNS = {
  created: ['created_at'],
  updated: ['updated_at'],
  pushed: ['pushed_at'],
  full_name: ['login_key', 'name_key'],
} as const satisfies Record<RepositoryOrder['by'], readonly string[]>

export function countAdministered(
  db: Db,
  viewer: Pick<Viewer, 'account'>,
  filter: RepositoryFilter,
): Promise<number> {
  return countRows(administered(db, viewer, filter))
}

/** Own repositories are found by a covering index, shared ones by their collaborators. */
function administered(db: Db, { account }: Pick<Viewer, 'account'>, filter: RepositoryFilter) {
  const owned = matching(db, filter).where('owner_id', '=', account.id)
  const ownerTypes = filter.affiliations.flatMap((each) => OWNER_TYPE[each] ?? [])
  if (ownerTypes.length === 0) return db.selectFrom(owned.as('listed'))
  const shared = matching(db, filter)
    .where('owner_id', '!=', account.id)
    .where('type', 'in', ownerTypes)
    .where('repositories.id', 'in', (eb) =>
      eb
        .selectFrom('collaborators')
        .select('repository_id')
        .where('login_key', '=', nameKey(account.login))
        .where('permission', '=', 'admin'),
    )
  const all = filter.affiliations.includes('owner') ? owned.unionAll(shared) : shared
  return db.selectFrom(all.as('listed'))
}

const OWNER_TYPE: Partial<Record<Affiliation, AccountType>> = {
  collaborator: 'User',
  organization_member: 'Organization',
}

function matching(db: Db, filter: RepositoryFilter) {
  const { isPrivate, isFork, updatedAfter, updatedBefore, nameContains, ownNameContains } = filter
  const { isDamaged, readableBy: reader } = filter
  return db
    .selectFrom('repositories')
    .innerJoin('accounts', 'accounts.id', 'repositories.owner_id')
    .select(['repositories.id', 'repositories.created_at', 'updated_at', 'pushed_at'])
    .select(['login_key', 'name_key'])
    .where('missing_since', 'is', null)
    .$if(isPrivate !== undefined, (query) => query.where('private', '=', Number(isPrivate)))
    .$if(updatedAfter !== undefined, (query) => query.where('updated_at', '>', updatedAfter!))
    .$if(updatedBefore !== undefined, (query) => query.where('updated_at', '<', updatedBefore!))
    .$if(nameContains !== undefined, (query) => query.where(has(FULL_NAME_KEY, nameContains!)))
    .$if(ownNameContains !== undefined, (query) => query.where(has(NAME, ownNameContains!)))
    .$if(isDamaged === true, (query) =>
      query.where((eb) =>
        eb.or([eb('problem', 'is not', null), eb(FULL_NAME_KEY, 'in', failedChecks(db))]),
      ),
    )
    .$if(isFork !== undefined, (query) => query.where('fork_of', isFork ? 'is not' : 'is', null))
    .$if(reader !== undefined, (query) =>
      query.where('repositories.id', 'in', readableBy(db, reader!)),
    )
}

const FULL_NAME_KEY = sql<string>`login_key || '/' || name_key`
const NAME = sql<string>`name_key`

function has(name: typeof NAME, part: string) {
  // No name has a NUL, and PostgreSQL rejects it in a parameter.
  if (part.includes('\0')) return sql<boolean>`1 = 0`
  const literal = nameKey(part).replaceAll(/[\\%_]/g, '\\$&')
  return sql<boolean>`${name} like ${`%${literal}%`} escape '\\'`
}

const failedChecks = (db: Db) =>
  db
    .selectFrom('repository_checks')
    .select((eb) => eb.fn<string>('lower', ['full_name']).as('key'))
    .where('outcome', '=', 'failed')

/** Returns the organizations in which the account administers a repository. */
export async function administeredOrganizations(db: Db, account: Account): Promise<Account[]> {
  const rows = await db
    .selectFrom('accounts')
    .selectAll('accounts')
    .where('type', '=', 'Organization')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('repositories')
        .innerJoin('collaborators', 'collaborators.repository_id', 'repositories.id')
        .select('owner_id')
        .where('login_key', '=', nameKey(account.login))
        .where('permission', '=', 'admin')
        .where('missing_since', 'is', null),
    )
    .orderBy('id')
    .execute()
  return rows.map(accountFromRow)
}
