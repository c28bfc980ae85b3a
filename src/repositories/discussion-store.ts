import { randomUUID } from 'node:crypto'
import type { Db } from '../db/database.ts'
import type { Batch, Group, Kept } from '../sources/discussions.ts'
import type { RepositoryName } from '../sources/source.ts'
import { findCatalogued, keyOfName } from './repository-store.ts'

const VERSIONS_BATCH_SIZE = 500
const GROUPS_BATCH_SIZE = 50

/** The key of a repository on a forge; the case of its name is ignored. */
const readingKey = (forge: string, name: RepositoryName): string => `${forge} ${keyOfName(name)}`

function readingOfKey(key: string): { forge: string; name: RepositoryName } {
  const at = key.lastIndexOf(' ')
  const [owner = '', name = ''] = key.slice(at + 1).split('/')
  return { forge: key.slice(0, at), name: { owner, name } }
}

/** Returns what is stored of the discussions of a repository. */
export async function keptDiscussions(
  db: Db,
  forge: string,
  name: RepositoryName,
): Promise<Kept & { groups(): AsyncIterable<Group> }> {
  const repository = readingKey(forge, name)
  const row = await db
    .selectFrom('discussion_readings')
    .select('cursor')
    .where('repository', '=', repository)
    .executeTakeFirst()
  return {
    cursor: row?.cursor ?? null,
    versions: () => versionsOf(db, repository),
    find: (key) => findGroup(db, repository, key),
    groups: () => groupsOf(db, repository),
  }
}

/** Another process is reading the discussions of the repository. */
export class ReadingTaken extends Error {
  override name = 'ReadLeaseTaken'
}

/** A reader that has not renewed its lease for so long loses it. */
const LEASE_MS = 120_000

/**
 * Acquires the lease to read the discussions of a repository: two readers would overwrite each other's rows. The same `reader`
 * can acquire it again at once, for example after a crash. Throws ReadingTaken if another reader holds it.
 */
export async function takeReading(
  db: Db,
  forge: string,
  name: RepositoryName,
  { reader, token, now }: { reader: string; token: string; now: number },
): Promise<void> {
  const repository = readingKey(forge, name)
  const taken = { reader, token, held_until: now + LEASE_MS }
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('discussion_readers')
    .values({ repository, ...taken })
    .onConflict((known) =>
      known
        .column('repository')
        .doUpdateSet(taken)
        .where((is) =>
          is.or([
            is('discussion_readers.reader', '=', reader),
            is('discussion_readers.held_until', '<', now),
            // Written with a wrong clock.
            is('discussion_readers.held_until', '>', now + 2 * LEASE_MS),
          ]),
        ),
    )
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows !== 1n)
    throw new ReadingTaken(`another migration is reading the records of ${name.owner}/${name.name}`)
}

/** Renews the lease; throws ReadingTaken if another reader has acquired it. */
export async function holdReading(
  tx: Db,
  forge: string,
  name: RepositoryName,
  { token, now }: { token: string; now: number },
): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('discussion_readers')
    .set({ held_until: now + LEASE_MS })
    .where('repository', '=', readingKey(forge, name))
    .where('token', '=', token)
    .executeTakeFirst()
  if (numUpdatedRows !== 1n)
    throw new ReadingTaken(`another migration is reading the records of ${name.owner}/${name.name}`)
}

export async function endReading(
  db: Db,
  forge: string,
  name: RepositoryName,
  token: string,
): Promise<void> {
  await db
    .deleteFrom('discussion_readers')
    .where('repository', '=', readingKey(forge, name))
    .where('token', '=', token)
    .execute()
}

/** Writes a batch and its cursor in one transaction. With `token`, only while that holds the lease. */
export async function keepBatch(
  db: Db,
  forge: string,
  name: RepositoryName,
  { put, remove, cursor }: Batch,
  now: number,
  token?: string,
): Promise<void> {
  const repository = readingKey(forge, name)
  await db.transaction().execute(async (tx) => {
    if (token !== undefined) await holdReading(tx, forge, name, { token, now })
    for (const group of put) await putGroup(tx, repository, group)
    for (const key of remove)
      await tx
        .deleteFrom('discussion_groups')
        .where('repository', '=', repository)
        .where('key', '=', key)
        .execute()
    await tx
      .insertInto('discussion_readings')
      .values({ repository, cursor, kept_at: now })
      .onConflict((known) => known.column('repository').doUpdateSet({ cursor, kept_at: now }))
      .execute()
  })
}

async function putGroup(tx: Db, repository: string, group: Group): Promise<void> {
  const { key, version, ...rest } = group
  const row = { position: positionOf(key), version, content: JSON.stringify(rest) }
  await tx
    .insertInto('discussion_groups')
    .values({ repository, key, ...row })
    .onConflict((known) => known.columns(['repository', 'key']).doUpdateSet(row))
    .execute()
}

const positionOf = (key: string): number => Number(/^issue\/(\d+)$/.exec(key)?.[1] ?? 0)

async function findGroup(db: Db, repository: string, key: string): Promise<Group | undefined> {
  const row = await db
    .selectFrom('discussion_groups')
    .select(['key', 'version', 'content'])
    .where('repository', '=', repository)
    .where('key', '=', key)
    .executeTakeFirst()
  return row && groupOf(row)
}

const groupOf = (row: { key: string; version: string; content: string }): Group => ({
  ...(JSON.parse(row.content) as Omit<Group, 'key' | 'version'>),
  key: row.key,
  version: row.version,
})

async function* versionsOf(db: Db, repository: string) {
  for (let after = ''; ; ) {
    const rows = await db
      .selectFrom('discussion_groups')
      .select(['key', 'version'])
      .where('repository', '=', repository)
      .where('key', '>', after)
      .orderBy('key')
      .limit(VERSIONS_BATCH_SIZE)
      .execute()
    yield* rows
    if (rows.length < VERSIONS_BATCH_SIZE) return
    after = rows.at(-1)!.key
  }
}

/** Yields the groups in the order of issues, and reads them in batches to limit memory. */
async function* groupsOf(db: Db, repository: string): AsyncGenerator<Group> {
  for (let last = { position: -1, key: '' }; ; ) {
    const rows = await db
      .selectFrom('discussion_groups')
      .select(['key', 'position', 'version', 'content'])
      .where('repository', '=', repository)
      .where((is) =>
        is.or([
          is('position', '>', last.position),
          is.and([is('position', '=', last.position), is('key', '>', last.key)]),
        ]),
      )
      .orderBy('position')
      .orderBy('key')
      .limit(GROUPS_BATCH_SIZE)
      .execute()
    for (const row of rows) yield groupOf(row)
    if (rows.length < GROUPS_BATCH_SIZE) return
    last = rows.at(-1)!
  }
}

/** The discussions of a missing repository are kept for so long, in case it comes back. */
const RETENTION_MS = 30 * 24 * 3_600_000

const SWEEPER = 'sweep'

/** Deletes the discussions of repositories that are missing or renamed and were not read for RETENTION_MS, and old leases. */
export async function sweepDiscussions(db: Db, now: () => number): Promise<void> {
  const unusedSince = now() - RETENTION_MS
  await db.deleteFrom('discussion_readers').where('held_until', '<', unusedSince).execute()
  const rows = await db
    .selectFrom('discussion_readings')
    .select('repository')
    .where('kept_at', '<', unusedSince)
    .execute()
  const readings = rows.map(({ repository }) => readingOfKey(repository))
  const known = await findCatalogued(
    db,
    readings.map(({ name }) => name),
  )
  for (const { forge, name } of readings) {
    if (known.has(keyOfName(name))) continue
    const token = randomUUID()
    try {
      await takeReading(db, forge, name, { reader: SWEEPER, token, now: now() })
      await deleteReading(db, forge, name, { token, now: now(), unusedSince })
    } catch (error) {
      if (!(error instanceof ReadingTaken)) throw error
    } finally {
      await endReading(db, forge, name, token)
    }
  }
}

/** Deletes the discussions of a repository if the lease is held and they were not read meanwhile. */
async function deleteReading(
  db: Db,
  forge: string,
  name: RepositoryName,
  { token, now, unusedSince }: { token: string; now: number; unusedSince: number },
): Promise<void> {
  const repository = readingKey(forge, name)
  await db.transaction().execute(async (tx) => {
    await holdReading(tx, forge, name, { token, now })
    const { numDeletedRows } = await tx
      .deleteFrom('discussion_readings')
      .where('repository', '=', repository)
      .where('kept_at', '<', unusedSince)
      .executeTakeFirst()
    if (numDeletedRows === 0n) return
    await tx.deleteFrom('discussion_groups').where('repository', '=', repository).execute()
  })
}
