import { NotFound } from '@godwit/lib/request-errors'
import { waitAtMost } from '@godwit/lib/timers'
import { sql } from 'kysely'
import type { Account, Scope } from '../accounts/account.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { type AlsoWrite, type Db, rowsInPages, selectInBatches } from '../db/database.ts'
import type { RepositorySummary } from '../repositories/metadata-store.ts'
import { readableAmong } from '../repositories/visible-repository.ts'
import type { Migration } from './migration.ts'
import { findMigration, readColumns } from './migration-store.ts'
import { archivedKeysOf, outcomesOf, readRecordExports } from './outcomes.ts'
import { namedRepositoriesOf, namedRepositoriesOfAll } from './repository-list-store.ts'
import { damagedKeys } from './segment-check-store.ts'
import { type CheckedSegment, markSegmentsUsed, segmentsByKey } from './segment-store.ts'
import { archivedMigrations, segmentUses } from './segment-sweep.ts'

/**
 * Returns the segments of an archive: its metadata, its repositories in order, the files of their records, its manifest. Returns an
 * empty list if the archive was deleted, also during the lookup.
 */
export async function archiveSegments(
  db: Db,
  { id }: Pick<Migration, 'id'>,
): Promise<CheckedSegment[]> {
  const ownKeys = () => readColumns(db, id, ['metadata_key', 'manifest_key'])
  const { metadata_key, manifest_key } = await ownKeys()
  if (metadata_key === null || manifest_key === null) return []
  const keys = [metadata_key, ...(await repositorySegments(db, id)), manifest_key]
  const segments = await segmentsByKey(db, keys)
  if (keys.every((key) => segments.has(key))) return keys.map((key) => segments.get(key)!)
  if ((await ownKeys()).metadata_key === null) return []
  throw new Error(`the database lacks segments of the archive of migration ${id}`)
}

async function repositorySegments(db: Db, id: number): Promise<string[]> {
  const outcomes = [...(await outcomesOf(db, { id }))].sort(([a], [b]) => a - b)
  const records = await readRecordExports(db, { id })
  const gitKeys = outcomes.flatMap(([, { segmentKey }]) => segmentKey ?? [])
  const fileKeys = outcomes.flatMap(([position, { outcome }]) =>
    outcome === 'exported' ? archivedKeysOf(records.get(position)?.records) : [],
  )
  return [...gitKeys, ...fileKeys]
}

export interface ArchivedRepository extends RepositorySummary {
  position: number
  hasGitData: boolean
}

/** Returns the repositories in the archive of each migration, in the order of the migrations. */
export async function archivedRepositories(
  db: Db,
  migrations: readonly Pick<Migration, 'id' | 'repositoryCount'>[],
): Promise<ArchivedRepository[][]> {
  const named = await namedRepositoriesOfAll(db, migrations)
  const archived: ArchivedRepository[][] = []
  for (const [at, migration] of migrations.entries()) {
    const outcomes = await outcomesOf(db, migration)
    const repositories = named[at]!.flatMap((each, position) => {
      const { outcome, segmentKey = null } = outcomes.get(position) ?? {}
      return outcome === 'exported' ? [{ ...each, position, hasGitData: segmentKey !== null }] : []
    })
    archived.push(repositories)
  }
  return archived
}

/** Returns the first few repositories in the archive that the migration's owner may no longer read. */
export async function noLongerReadable(
  db: Db,
  migration: Pick<Migration, 'id' | 'owner' | 'repositoryCount'>,
  atMost: number,
): Promise<string[]> {
  const [exported = []] = await archivedRepositories(db, [migration])
  const ids = exported.map(({ repositoryId }) => repositoryId)
  const readable = await readableAmong(db, migration.owner.id, ids)
  const missing = exported.filter(({ repositoryId }) => !readable.has(repositoryId))
  return missing.slice(0, atMost).map(({ fullName }) => fullName)
}

/** Finds the archive of a signed link, which needs no account. An expired archive is not found, even before it is swept. */
export async function findArchive(db: Db, guid: string, now: number) {
  const row = await db
    .selectFrom('migrations')
    .select(['id', 'owner', 'owner_id as ownerId', 'created_at as createdAt', 'name'])
    .select('repository_count as repositoryCount')
    .where('guid', '=', guid)
    .where('archive_expires_at', '>', now)
    .executeTakeFirst()
  if (!row) return undefined
  const { owner, ...archive } = row
  /** The owner's login when the migration started. */
  const { login } = JSON.parse(owner) as Account
  return { ...archive, login }
}

export type FoundArchive = NonNullable<Awaited<ReturnType<typeof findArchive>>>

export async function expiredArchives(db: Db, now: number): Promise<number[]> {
  const rows = await db
    .selectFrom('migrations')
    .select('id')
    .where('archive_expires_at', '<=', now)
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * Removes the archive from the database; the segments of its repositories stay for a while, to be reused. Returns the keys of the
 * blobs that only this archive used, to be deleted after the commit, or undefined if there was no archive.
 */
export async function dropArchive(tx: Db, id: number, now: number): Promise<string[] | undefined> {
  const archived = await tx
    .selectFrom('migrations')
    .select(['archive_key', 'metadata_key', 'manifest_key'])
    .where('id', '=', id)
    .where('archive_expires_at', 'is not', null)
    .executeTakeFirst()
  const { numUpdatedRows } = await tx
    .updateTable('migrations')
    .set((eb) => ({
      archive_expires_at: null,
      archive_bytes: null,
      archive_key: null,
      metadata_key: null,
      manifest_key: null,
      version: eb('version', '+', 1),
      updated_at: now,
    }))
    .where('id', '=', id)
    .where('archive_expires_at', 'is not', null)
    .executeTakeFirst()
  if (!archived || numUpdatedRows === 0n) return undefined
  await markSegmentsUsed(tx, await repositorySegments(tx, id), now)
  const { archive_key, metadata_key, manifest_key } = archived
  const archiveKeys = [archive_key, metadata_key, manifest_key].filter((key) => key !== null)
  await tx
    .deleteFrom('segments')
    .where('key', 'in', archiveKeys)
    .where('fingerprint', 'is', null)
    .execute()
  return archiveKeys
}

/** Returns the keys that belong to composed archives. */
export async function archiveKeysAmong(db: Db, keys: readonly string[]): Promise<Set<string>> {
  const rows = await selectInBatches(keys, (batch) =>
    db.selectFrom('migrations').select('archive_key').where('archive_key', 'in', batch),
  )
  return new Set(rows.map((row) => row.archive_key!))
}

/** Counts the archives. `composedBytes` is the size of those that are stored as one blob beside their segments. */
export async function countArchives(db: Db): Promise<{ count: number; composedBytes: number }> {
  const composed = sql<number>`sum(case when archive_key is null then 0 else archive_bytes end)`
  const { count, composedBytes } = await db
    .selectFrom('migrations')
    .select((eb) => [eb.fn.countAll<number>().as('count'), composed.as('composedBytes')])
    .where('archive_expires_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return { count, composedBytes: Number(composedBytes ?? 0) }
}

/** The name of the segments that belong to no repository, in a list of damaged repositories. */
const ARCHIVE_METADATA = 'the metadata of the archive'

/** Returns the names of the repositories whose data in the archive is damaged. */
export async function damagedRepositoriesIn(
  db: Db,
  migration: Pick<Migration, 'id' | 'repositoryCount'>,
): Promise<string[]> {
  const { id } = migration
  const damaged = await damagedKeys(db)
  if (damaged.size === 0) return []
  const found = new Set<string>()
  for await (const [, key] of segmentUses(db, { ids: [id] })) if (damaged.has(key)) found.add(key)
  if (found.size === 0) return []
  const outcomes = await outcomesOf(db, { id })
  const records = await readRecordExports(db, { id })
  const named = await namedRepositoriesOf(db, migration)
  const names = named.flatMap(({ fullName }, position) => {
    const git = outcomes.get(position)?.segmentKey ?? []
    const keys = [git, archivedKeysOf(records.get(position)?.records)].flat()
    const archiveKeys = keys.filter((key) => found.has(key))
    for (const key of archiveKeys) found.delete(key)
    return archiveKeys.length > 0 ? [fullName] : []
  })
  return found.size > 0 ? [...names, ARCHIVE_METADATA] : names
}

/** Returns the migrations whose archive has damaged data. */
export async function damagedAmong(db: Db, ids: readonly number[]): Promise<ReadonlySet<number>> {
  const damaged = await damagedKeys(db)
  const found = new Set<number>()
  if (damaged.size === 0 || ids.length === 0) return found
  for await (const [id, key] of segmentUses(db, { ids })) if (damaged.has(key)) found.add(id)
  return found
}

export type DamagedArchive = Awaited<ReturnType<typeof damagedArchives>>[number]

/** Returns all archives with damaged data, for operators. */
export async function damagedArchives(db: Db) {
  const archives: { migrationId: number; login: string; damaged: string[] }[] = []
  if ((await damagedKeys(db)).size === 0) return archives
  for await (const { id, repositories } of archivedMigrations(db)) {
    const damaged = await damagedRepositoriesIn(db, { id, repositoryCount: repositories })
    if (damaged.length === 0) continue
    const { login } = JSON.parse((await readColumns(db, id, ['owner'])).owner) as Account
    archives.push({ migrationId: id, login, damaged })
  }
  return archives
}

/** A blob that the database refers to: a segment, or an archive that was composed in a bucket. */
export interface ReferencedBlob {
  key: string
  length: number
  /** Undefined for a composed archive. */
  sha256?: string
}

const BLOBS_AT_ONCE = 1000

/** Yields all blobs that the database refers to. Each page is one query, so blobs that are added meanwhile may be missing. */
export async function* referencedBlobs(db: Db): AsyncGenerator<ReferencedBlob> {
  yield* rowsInPages(BLOBS_AT_ONCE, { key: '' }, ({ key }) =>
    db
      .selectFrom('segments')
      .select(['key', 'length', 'sha256'])
      .where('key', '>', key)
      .orderBy('key'),
  )
  yield* rowsInPages(BLOBS_AT_ONCE, { key: '' }, ({ key }) =>
    db
      .selectFrom('migrations')
      .select(['archive_key as key', 'archive_bytes as length'])
      .where('archive_key', '>', key)
      .orderBy('archive_key')
      .$narrowType<{ key: string; length: number }>(),
  )
}

export interface DeleteDependencies {
  db: Db
  blobs: BlobStore
  now: () => number
}

/** How long a response waits for the deletion of the bytes. */
const DELETION_TIMEOUT_MS = 1000

/** Deletes the archive of a migration, which stays listed. Throws NotFound if there is none. */
export async function deleteArchive(
  dependencies: DeleteDependencies,
  scope: Scope,
  migrationId: number,
  alsoWrite?: AlsoWrite,
): Promise<void> {
  const migration = await findMigration(dependencies.db, scope, migrationId)
  const keys = migration && (await dropRows(dependencies, migration.id, alsoWrite))
  if (!keys) throw new NotFound()
  // The archive is deleted even if the store fails: bytes that remain are orphans, and are swept.
  await waitAtMost(DELETION_TIMEOUT_MS, deleteBytes(dependencies, keys))
}

/** Deletes the row first and the bytes last: bytes that a crash leaves are swept. */
export async function removeArchive(
  dependencies: DeleteDependencies,
  migrationId: number,
  alsoWrite?: AlsoWrite,
): Promise<void> {
  await deleteBytes(dependencies, (await dropRows(dependencies, migrationId, alsoWrite)) ?? [])
}

/** Returns undefined if there was no archive. */
const dropRows = (
  { db, now }: DeleteDependencies,
  migrationId: number,
  alsoWrite?: AlsoWrite,
): Promise<string[] | undefined> =>
  db.transaction().execute(async (tx) => {
    const keys = await dropArchive(tx, migrationId, now())
    if (keys) await alsoWrite?.(tx)
    return keys
  })

async function deleteBytes({ blobs }: DeleteDependencies, keys: readonly string[]): Promise<void> {
  for (const key of keys) await blobs.delete(key)
}
