import { sql } from 'kysely'
import type { Account } from '../accounts/account.ts'
import type { Db } from '../db/database.ts'
import { selectInBatches } from '../db/statement-batches.ts'
import type { NamedRepository } from '../repositories/facts-store.ts'
import { readableAmong } from '../repositories/readable-repositories.ts'
import type { Migration } from './migration.ts'
import { outcomesOf } from './outcomes.ts'
import { archivedKeysOf, recordExportsOf } from './record-store.ts'
import { type CheckedSegment, nameSegments, segmentsByKey } from './segment-store.ts'
import { namedRepositoriesOfAll } from './snapshot-store.ts'

/**
 * An archive is a list of segments: its metadata, those of its migration's repositories in order, those of the files of their
 * records, its manifest. None where it was deleted, also while it was looked up.
 */
export async function archiveSegments(
  db: Db,
  { id }: Pick<Migration, 'id'>,
): Promise<CheckedSegment[]> {
  const { metadata_key, manifest_key } = await ownKeys(db, id)
  if (metadata_key === null) return []
  const keys = [metadata_key, ...(await repositorySegments(db, id)), manifest_key ?? []].flat()
  const segments = await segmentsByKey(db, keys)
  if (keys.every((key) => segments.has(key))) return keys.map((key) => segments.get(key)!)
  if ((await ownKeys(db, id)).metadata_key === null) return []
  throw new Error(`the database lacks segments of the archive of migration ${id}`)
}

const ownKeys = (db: Db, id: number) =>
  db
    .selectFrom('migrations')
    .select(['metadata_key', 'manifest_key'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()

async function repositorySegments(db: Db, id: number): Promise<string[]> {
  const outcomes = [...(await outcomesOf(db, { id }))].sort(([a], [b]) => a - b)
  const records = await recordExportsOf(db, { id })
  const ofGit = outcomes.flatMap(([, { segmentKey }]) => segmentKey ?? [])
  const ofFiles = outcomes.flatMap(([position, { outcome }]) =>
    outcome === 'exported' ? archivedKeysOf(records.get(position)?.records ?? null) : [],
  )
  return [...ofGit, ...ofFiles]
}

export interface ArchivedRepository extends NamedRepository {
  /** Its place in the snapshot of the migration. */
  position: number
  hasGitData: boolean
}

/** Returns the repositories that the archive of each migration holds, exported or reused, in the order of the migrations. */
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

/** The first few repositories that the archive holds and the migration's owner may no longer read. */
export async function noLongerReadable(
  db: Db,
  migration: Pick<Migration, 'id' | 'owner' | 'repositoryCount'>,
  atMost: number,
): Promise<string[]> {
  const [exported = []] = await archivedRepositories(db, [migration])
  const ids = exported.map(({ repositoryId }) => repositoryId)
  const readable = await readableAmong(db, migration.owner.id, ids)
  const lost = exported.filter(({ repositoryId }) => !readable.has(repositoryId))
  return lost.slice(0, atMost).map(({ fullName }) => fullName)
}

/** Who holds a signed link needs no account: the link says all. Past its time an archive is gone, swept or not. */
export async function findArchive(
  db: Db,
  guid: string,
  now: number,
): Promise<FoundArchive | undefined> {
  const row = await db
    .selectFrom('migrations')
    .select(['id', 'owner_id', 'owner', 'created_at', 'repository_count'])
    .where('guid', '=', guid)
    .where('archive_expires_at', '>', now)
    .executeTakeFirst()
  if (!row) return undefined
  const { login } = JSON.parse(row.owner) as Account
  const { id, owner_id, created_at, repository_count } = row
  return { id, ownerId: owner_id, login, createdAt: created_at, repositoryCount: repository_count }
}

export interface FoundArchive {
  id: number
  ownerId: number
  /** Whose it is, as they were called then. */
  login: string
  createdAt: number
  repositoryCount: number
}

export async function expiredArchives(db: Db, now: number): Promise<number[]> {
  const rows = await db
    .selectFrom('migrations')
    .select('id')
    .where('archive_expires_at', '<=', now)
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * The archive is gone at once; its repositories' segments stay for a while, to be reused. Returns the keys of the blobs
 * that only it had, to be deleted after the commit; undefined when there was no archive.
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
    .set((row) => ({
      archive_expires_at: null,
      archive_bytes: null,
      archive_key: null,
      metadata_key: null,
      manifest_key: null,
      version: row('version', '+', 1),
      updated_at: now,
    }))
    .where('id', '=', id)
    .where('archive_expires_at', 'is not', null)
    .executeTakeFirst()
  if (!archived || numUpdatedRows === 0n) return undefined
  await nameSegments(tx, await repositorySegments(tx, id), now)
  const { archive_key, metadata_key, manifest_key } = archived
  const own = [archive_key, metadata_key, manifest_key].filter((key) => key !== null)
  await tx.deleteFrom('segments').where('key', 'in', own).where('fingerprint', 'is', null).execute()
  return own
}

/** Those of the keys that are of whole archives. */
export async function archiveKeysAmong(db: Db, keys: readonly string[]): Promise<Set<string>> {
  const rows = await selectInBatches(keys, (some) =>
    db.selectFrom('migrations').select('archive_key').where('archive_key', 'in', some),
  )
  return new Set(rows.map((row) => row.archive_key!))
}

/** How many there are to download, and what those take that are kept whole beside their segments. */
export async function countArchives(db: Db): Promise<{ count: number; wholeBytes: number }> {
  const whole = sql<number>`sum(case when archive_key is null then 0 else archive_bytes end)`
  const { count, wholeBytes } = await db
    .selectFrom('migrations')
    .select((of) => [of.fn.countAll<number>().as('count'), whole.as('wholeBytes')])
    .where('archive_expires_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return { count, wholeBytes: Number(wholeBytes ?? 0) }
}
