import type { Batch, Group, StoredGroups } from '@godwit/hosts/discussions'
import type { RepositoryName } from '@godwit/hosts/source'
import { type Db, rowsInPages } from '../db/database.ts'
import {
  acquireLease,
  deleteLeasesExpiredBefore,
  type Lease,
  LeaseTaken,
  releaseLease,
  renewLease,
} from '../db/lease-store.ts'
import { findByNameAsMap, keyOfName } from './repository-store.ts'

const VERSIONS_AT_ONCE = 500
const GROUPS_AT_ONCE = 50

/** The key of a repository's records: the forge's address and the name without regard to case. */
const readingKey = (forge: string, name: RepositoryName): string => `${forge} ${keyOfName(name)}`

function readingOfKey(key: string): { forge: string; name: RepositoryName } {
  const at = key.lastIndexOf(' ')
  const [owner = '', name = ''] = key.slice(at + 1).split('/')
  return { forge: key.slice(0, at), name: { owner, name } }
}

/** Returns the stored records of one repository. */
export async function storedDiscussions(
  db: Db,
  forge: string,
  name: RepositoryName,
): Promise<StoredGroups & { groups(): AsyncIterable<Group> }> {
  const repository = readingKey(forge, name)
  const row = await db
    .selectFrom('discussion_readings')
    .select('cursor')
    .where('repository', '=', repository)
    .executeTakeFirst()
  return {
    cursor: row?.cursor ?? null,
    versions: (after) => versionsOf(db, repository, after),
    find: (key) => findGroup(db, repository, key),
    groups: () => groupsOf(db, repository),
  }
}

const READING_TTL_MS = 120_000

/** Acquires the lease to read the records of a repository, or throws LeaseTaken: two readers would undo each other's work. */
export async function leaseReading(
  db: Db,
  forge: string,
  repository: RepositoryName,
  { reader, now }: { reader: string; now: number },
): Promise<Lease> {
  const name = `reading the records of ${keyOfName(repository)} from ${forge}`
  const lease = await acquireLease(db, { name, holder: reader, ttlMs: READING_TTL_MS, now })
  if (!lease) throw new LeaseTaken({ name })
  return lease
}

/** Stores a batch and its cursor in one transaction. Throws LeaseTaken if the lease was lost. */
export async function storeBatch(
  db: Db,
  forge: string,
  name: RepositoryName,
  { put, remove, cursor }: Batch,
  now: number,
  lease: Lease,
): Promise<void> {
  const repository = readingKey(forge, name)
  await db.transaction().execute(async (tx) => {
    await renewLease(tx, lease, now)
    for (const group of put) await putGroup(tx, repository, group)
    for (const key of remove)
      await tx
        .deleteFrom('discussion_groups')
        .where('repository', '=', repository)
        .where('key', '=', key)
        .execute()
    await tx
      .insertInto('discussion_readings')
      .values({ repository, cursor, updated_at: now })
      .onConflict((oc) => oc.column('repository').doUpdateSet({ cursor, updated_at: now }))
      .execute()
  })
}

async function putGroup(tx: Db, repository: string, group: Group): Promise<void> {
  const { key, version, ...rest } = group
  const row = { position: positionOf(key), version, content: JSON.stringify(rest) }
  await tx
    .insertInto('discussion_groups')
    .values({ repository, key, ...row })
    .onConflict((oc) => oc.columns(['repository', 'key']).doUpdateSet(row))
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

const versionsOf = (db: Db, repository: string, from = '') =>
  rowsInPages(VERSIONS_AT_ONCE, { key: from }, (after) =>
    db
      .selectFrom('discussion_groups')
      .select(['key', 'version'])
      .where('repository', '=', repository)
      .where('key', '>', after.key)
      .orderBy('key'),
  )

/** Yields groups in the order of issues, page by page, so that they are never all in memory. */
async function* groupsOf(db: Db, repository: string): AsyncGenerator<Group> {
  const rows = rowsInPages(GROUPS_AT_ONCE, { position: -1, key: '' }, (last) =>
    db
      .selectFrom('discussion_groups')
      .select(['key', 'position', 'version', 'content'])
      .where('repository', '=', repository)
      .where((eb) =>
        eb.or([
          eb('position', '>', last.position),
          eb.and([eb('position', '=', last.position), eb('key', '>', last.key)]),
        ]),
      )
      .orderBy('position')
      .orderBy('key'),
  )
  for await (const row of rows) yield groupOf(row)
}

/** How long records of a deleted repository are kept, in case it comes back. */
const UNUSED_MS = 30 * 24 * 3_600_000

/** Deletes records of repositories that left the repository index and were not read for long, and leases of readers that died long ago. */
export async function sweepDiscussions(db: Db, now: () => number): Promise<void> {
  const unusedSince = now() - UNUSED_MS
  await deleteLeasesExpiredBefore(db, unusedSince)
  const rows = await db
    .selectFrom('discussion_readings')
    .select('repository')
    .where('updated_at', '<', unusedSince)
    .execute()
  const readings = rows.map(({ repository }) => readingOfKey(repository))
  const known = await findByNameAsMap(
    db,
    readings.map(({ name }) => name),
  )
  for (const { forge, name } of readings) {
    if (known.has(keyOfName(name))) continue
    try {
      const lease = await leaseReading(db, forge, name, { reader: 'sweep', now: now() })
      try {
        await deleteReading(db, readingKey(forge, name), { lease, now: now(), unusedSince })
      } finally {
        await releaseLease(db, lease)
      }
    } catch (error) {
      if (!(error instanceof LeaseTaken)) throw error
    }
  }
}

/** Deletes nothing if the records were read since `unusedSince`. */
async function deleteReading(
  db: Db,
  repository: string,
  { lease, now, unusedSince }: { lease: Lease; now: number; unusedSince: number },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await renewLease(tx, lease, now)
    const { numDeletedRows } = await tx
      .deleteFrom('discussion_readings')
      .where('repository', '=', repository)
      .where('updated_at', '<', unusedSince)
      .executeTakeFirst()
    if (numDeletedRows === 0n) return
    await tx.deleteFrom('discussion_groups').where('repository', '=', repository).execute()
  })
}
