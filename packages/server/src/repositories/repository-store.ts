import type { RepositoryName, SourceMetadata } from '@godwit/hosts/source'
import { mapInTurns, nextTurn } from '@godwit/lib/turns'
import { type InferResult, type SqlBool, sql } from 'kysely'
import { type Account, isTokenForOtherOwner, nameKey, type Reader } from '../accounts/account.ts'
import { accountFromRow } from '../accounts/account-store.ts'
import { countRows, type Db, selectInBatches, statementBatches } from '../db/database.ts'
import { prepared } from '../db/prepared.ts'
import { type Role, strongerRole } from './repository-metadata.ts'

export type IndexedRepository = ReturnType<typeof entryOf>

export const keyOfName = ({ owner, name }: RepositoryName): string => nameKey(`${owner}/${name}`)

export const keyOfEntry = ({ owner, name }: IndexedRepository): string =>
  keyOfName({ owner: owner.login, name })

/** What a sync of all repositories needs to know about each. Their metadata would fill the memory. */
export interface KnownRepository
  extends RepositoryName,
    Pick<IndexedRepository, 'id' | 'changeToken' | 'problem'> {}

export function listKnown(db: Db): Promise<KnownRepository[]> {
  return db
    .selectFrom('repositories')
    .innerJoin('accounts', 'accounts.id', 'repositories.owner_id')
    .select([
      'repositories.id',
      'login as owner',
      'repositories.name',
      'change_token as changeToken',
      'problem',
    ])
    .where('missing_since', 'is', null)
    .orderBy('login_key')
    .orderBy('name_key')
    .execute()
}

/** Returns the number of public repositories that the account owns. */
export function countPublic(db: Db, { id }: Account): Promise<number> {
  return countRows(
    db
      .selectFrom('repositories')
      .where('owner_id', '=', id)
      .where('private', '=', 0)
      .where('missing_since', 'is', null),
  )
}

/** Returns the entries in the order of the ids, without missing ones. */
export async function findById(db: Db, ids: readonly number[]): Promise<IndexedRepository[]> {
  const rows = await selectInBatches(ids, (batch) =>
    selectIndexed(db).where('repositories.id', 'in', batch),
  )
  const entries = new Map(await mapInTurns(rows, (row) => [row.id, entryOf(row)] as const))
  return ids.flatMap((id) => entries.get(id) ?? [])
}

export async function findByName(
  db: Db,
  names: readonly RepositoryName[],
): Promise<IndexedRepository[]> {
  const namesOfOwner = Map.groupBy(names, ({ owner }) => nameKey(owner))
  const entries: IndexedRepository[] = []
  for (const [ownerKey, owned] of namesOfOwner)
    for (const batch of statementBatches(owned.map(({ name }) => nameKey(name)))) {
      await nextTurn()
      const named = selectIndexed(db)
        .where('login_key', '=', ownerKey)
        .where('name_key', 'in', batch)
      entries.push(...(await named.execute()).map(entryOf))
    }
  return entries
}

/** Returns the id of a repository, also of one that is missing at the source. */
export async function findIdByName(
  db: Db,
  { owner, name }: RepositoryName,
): Promise<number | undefined> {
  const row = await db
    .selectFrom('repositories')
    .innerJoin('accounts', 'accounts.id', 'repositories.owner_id')
    .select('repositories.id')
    .where('login_key', '=', nameKey(owner))
    .where('name_key', '=', nameKey(name))
    .executeTakeFirst()
  return row?.id
}

/** Like `findByName`, as a map by lower-case full name. */
export async function findByNameAsMap(
  db: Db,
  names: readonly RepositoryName[],
): Promise<Map<string, IndexedRepository>> {
  return new Map((await findByName(db, names)).map((entry) => [keyOfEntry(entry), entry]))
}

const grantedTo = prepared(
  (db, { loginKey }: { loginKey: string }) =>
    db
      .selectFrom('collaborators')
      .select(['repository_id', 'permission'])
      .where('login_key', '=', loginKey),
  (rows) => rows.map((row) => [row.repository_id, row.permission as Role] as const),
)

/** Returns the viewer's roles by repository id. A repository without a role is not in the map. */
export async function rolesOf(
  db: Db,
  viewer: Reader,
  entries: readonly IndexedRepository[],
): Promise<Map<number, Role>> {
  const { account } = viewer
  const roles = new Map<number, Role>()
  for (const [id, role] of await grantedTo(db, { loginKey: nameKey(account.login) }))
    roles.set(id, strongerRole(role, roles.get(id) ?? 'none'))
  for (const { id, owner } of entries) {
    if (owner.id === account.id) roles.set(id, 'owner')
    if (isTokenForOtherOwner(viewer, owner)) roles.delete(id)
  }
  return roles
}

/** Returns the number of forks that the viewer may read, by lower-case full name of the origin. */
export async function countForks(
  db: Db,
  { account, organizationId }: Reader,
  entries: readonly IndexedRepository[],
): Promise<Map<string, number>> {
  const rows = await selectInBatches(entries.map(keyOfEntry), (batch) =>
    db
      .selectFrom('repositories')
      .select(['fork_of', (eb) => eb.fn.countAll<number>().as('forks')])
      .where('fork_of', 'in', batch)
      .where('missing_since', 'is', null)
      .where((eb) =>
        eb.or([
          eb('private', '=', 0),
          eb('owner_id', '=', account.id),
          eb('id', 'in', (eb) =>
            eb
              .selectFrom('collaborators')
              .select('repository_id')
              .where('login_key', '=', nameKey(account.login)),
          ),
        ]),
      )
      .$if(organizationId !== undefined, (query) =>
        query.where((eb) => eb.or([eb('private', '=', 0), eb('owner_id', '=', organizationId!)])),
      )
      .groupBy('fork_of'),
  )
  return new Map(rows.map(({ fork_of, forks }) => [fork_of!, forks]))
}

export interface IndexUpdate extends Omit<IndexedRepository, 'id' | 'owner'> {
  ownerId: number
}

/**
 * Inserts or updates a repository and its collaborators. Call it in a transaction. If `lastChangeToken` is given, does nothing unless the
 * entry still has this change token or, with null, there is still none.
 */
export async function putRepository(
  tx: Db,
  update: IndexUpdate,
  now: number,
  lastChangeToken?: string | null,
): Promise<void> {
  const { metadata } = update
  const columns = {
    name: update.name,
    change_token: update.changeToken,
    metadata: JSON.stringify(metadata),
    fork_of: metadata.forkOf === null ? null : nameKey(metadata.forkOf),
    problem: update.problem,
    missing_since: null,
    hidden: null,
    synced_at: now,
    private: Number(metadata.private),
    created_at: Math.trunc(metadata.createdAt),
    updated_at: Math.trunc(metadata.updatedAt),
    pushed_at: Math.trunc(metadata.pushedAt),
  }
  const row = await tx
    .insertInto('repositories')
    .values({ owner_id: update.ownerId, name_key: nameKey(update.name), ...columns })
    .onConflict((oc) =>
      oc
        .columns(['owner_id', 'name_key'])
        .doUpdateSet(columns)
        .where(hasChangeToken(lastChangeToken)),
    )
    .returning('id')
    .executeTakeFirst()
  if (!row) return
  const { id } = row
  await tx
    .deleteFrom('collaborators')
    .where('repository_id', '=', id)
    .where('origin', '=', 'file')
    .execute()
  const collaborators = new Map(metadata.collaborators.map((c) => [nameKey(c.login), c.permission]))
  if (collaborators.size === 0) return
  await tx
    .insertInto('collaborators')
    .values(
      [...collaborators].map(([login_key, permission]) => ({
        repository_id: id,
        login_key,
        origin: 'file',
        permission,
      })),
    )
    .execute()
}

function hasChangeToken(changeToken: string | null | undefined) {
  if (changeToken === undefined) return sql<SqlBool>`1 = 1`
  if (changeToken === null) return sql<SqlBool>`repositories.missing_since is not null`
  return sql<SqlBool>`repositories.missing_since is null and repositories.change_token = ${changeToken}`
}

/** `hidden` is the reason why a repository that exists is not shown. If `lastChangeToken` is given, an entry with another one is kept. */
export async function markMissing(
  db: Db,
  id: number,
  now: number,
  {
    hidden,
    lastChangeToken,
  }: { hidden?: string | undefined; lastChangeToken?: string | undefined } = {},
): Promise<void> {
  await db
    .updateTable('repositories')
    .set({ missing_since: now, hidden: hidden ?? null })
    .where('id', '=', id)
    .$if(lastChangeToken !== undefined, (entry) =>
      entry.where('change_token', '=', lastChangeToken!),
    )
    .execute()
}

/** Returns the current names of repositories by id, and the reason if one exists but is not shown. */
export async function findCurrentNames(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, RepositoryName & { hidden: string | null }>> {
  const rows = await selectInBatches(ids, (batch) =>
    db
      .selectFrom('repositories')
      .innerJoin('accounts', 'accounts.id', 'repositories.owner_id')
      .select(['repositories.id', 'accounts.login as owner', 'repositories.name', 'hidden'])
      .where('repositories.id', 'in', batch),
  )
  return new Map(rows.map(({ id, ...named }) => [id, named]))
}

function selectIndexed(db: Db) {
  return db
    .selectFrom('repositories')
    .innerJoin('accounts', 'accounts.id', 'repositories.owner_id')
    .select([
      'repositories.id',
      'repositories.name',
      'change_token as changeToken',
      'metadata',
      'problem',
    ])
    .select(['accounts.id as owner_id', 'login', 'type', 'site_admin', 'accounts.created_at'])
    .where('missing_since', 'is', null)
}

const entryOf = (row: InferResult<ReturnType<typeof selectIndexed>>[number]) => ({
  id: row.id,
  owner: accountFromRow({ ...row, id: row.owner_id }),
  name: row.name,
  /** Changes whenever the metadata changes at the source. */
  changeToken: row.changeToken,
  metadata: JSON.parse(row.metadata) as SourceMetadata,
  /** Why it cannot be read; null if it can. */
  problem: row.problem,
})
