import { hash } from 'node:crypto'
import { batchesOf } from '@godwit/lib/chunks'
import { mapInTurns, nextTurn } from '@godwit/lib/turns'
import { type Db, selectInBatches, statementBatches } from '../db/database.ts'
import { prepared } from '../db/prepared.ts'
import { fullNameOf, type RepositoryMetadata } from './repository-metadata.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** `last_used_at` is the time when a migration last started with this metadata. It is updated at most once in this time, to save writes. */
const LAST_USED_UPDATE_MS = DAY_MS
/** Metadata is not swept for this time after `last_used_at`. Must be longer than LAST_USED_UPDATE_MS. */
export const SWEEP_GRACE_MS = 7 * DAY_MS

/**
 * Inserts metadata that is not stored yet, and returns the ids of all in the given order. Call it in the transaction that stores
 * these ids. It updates an old `last_used_at`, so that the sweep does not delete the row. If the sweep has deleted a row in the meantime,
 * it is inserted again.
 */
export async function saveMetadata(
  tx: Db,
  all: readonly RepositoryMetadata[],
  now: number,
): Promise<number[]> {
  const rows = await mapInTurns(all, metadataRowOf)
  const rowsByDigest = new Map(rows.map((row) => [row.digest, row]))
  const recent = await selectInBatches([...rowsByDigest.keys()], (digests) =>
    tx
      .selectFrom('repository_metadata')
      .select(['id', 'digest'])
      .where('digest', 'in', digests)
      .where('last_used_at', '>', now - LAST_USED_UPDATE_MS),
  )
  const ids = new Map(recent.map(({ id, digest }) => [digest, id]))
  // Sorted, so that transactions that write the same rows cannot deadlock.
  const missingOrOld = [...rowsByDigest.values()]
    .filter(({ digest }) => !ids.has(digest))
    .sort((a, b) => (a.digest < b.digest ? -1 : 1))
  const written = await selectInBatches(missingOrOld, (batch) =>
    tx
      .insertInto('repository_metadata')
      .values(batch.map((row) => ({ ...row, last_used_at: now })))
      .onConflict((oc) => oc.column('digest').doUpdateSet({ last_used_at: now }))
      .returning(['id', 'digest']),
  )
  for (const { id, digest } of written) ids.set(digest, id)
  return rows.map(({ digest }) => ids.get(digest)!)
}

function metadataRowOf(repository: RepositoryMetadata) {
  const metadata = JSON.stringify(repository)
  const digest = hash('sha256', metadata, 'base64url')
  return {
    digest,
    repository_id: repository.id,
    full_name: fullNameOf(repository),
    metadata,
    size_kib: Math.round(repository.sizeKib),
  }
}

/** A prepared statement has a fixed number of parameters. */
const IDS_PER_STATEMENT = 10

const selectMetadata = prepared(
  (db, ids: Record<number, number>) =>
    db
      .selectFrom('repository_metadata')
      .select(['id', 'metadata'])
      .where(
        'id',
        'in',
        Array.from({ length: IDS_PER_STATEMENT }, (_, index) => ids[index]!),
      ),
  (rows) => rows,
  { isCached: false },
)

/** Returns the metadata with these ids, with a prepared statement that is fast for a page of repositories. */
export async function metadataOfPage(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, RepositoryMetadata>> {
  const batches = [...batchesOf(ids, IDS_PER_STATEMENT)].map((batch) =>
    selectMetadata(
      db,
      // A shorter batch repeats its first id.
      Array.from({ length: IDS_PER_STATEMENT }, (_, index) => batch[index] ?? batch[0]!),
    ),
  )
  const rows = (await Promise.all(batches)).flat()
  return new Map(rows.map(({ id, metadata }) => [id, JSON.parse(metadata) as RepositoryMetadata]))
}

/** Returns the metadata with these ids. For long lists: other work runs between the batches. */
export async function metadataById(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, RepositoryMetadata>> {
  const found = new Map<number, RepositoryMetadata>()
  for (const batch of statementBatches([...new Set(ids)])) {
    await nextTurn()
    const rows = await db
      .selectFrom('repository_metadata')
      .select(['id', 'metadata'])
      .where('id', 'in', batch)
      .execute()
    for (const row of rows) found.set(row.id, JSON.parse(row.metadata) as RepositoryMetadata)
  }
  return found
}

export interface RepositorySummary {
  repositoryId: number
  fullName: string
  /** The size in the repository index when the metadata was stored. */
  bytes: number
}

/** Returns the repository that each of these rows describes, by the id of the metadata. */
export async function repositoriesByMetadataId(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, RepositorySummary>> {
  const rows = await selectInBatches([...new Set(ids)], (batch) =>
    db
      .selectFrom('repository_metadata')
      .select(['id', 'repository_id as repositoryId', 'full_name as fullName', 'size_kib'])
      .where('id', 'in', batch),
  )
  return new Map(
    rows.map(({ id, size_kib, ...named }) => [id, { ...named, bytes: size_kib * 1024 }]),
  )
}

/** Returns the ids of the metadata that describes this repository. */
export async function metadataIdsOfRepository(
  db: Db,
  ids: readonly number[],
  repositoryId: number,
): Promise<Set<number>> {
  const rows = await selectInBatches(ids, (batch) =>
    db
      .selectFrom('repository_metadata')
      .select('id')
      .where('id', 'in', batch)
      .where('repository_id', '=', repositoryId),
  )
  return new Set(rows.map(({ id }) => id))
}

/**
 * Returns the ids above `after` of metadata that was not used after `since`, in ascending order. Older repository lists may still
 * refer to them: the caller must check that.
 */
export async function findSweepCandidates(
  db: Db,
  { since, after, limit }: { since: number; after: number; limit: number },
): Promise<number[]> {
  const rows = await db
    .selectFrom('repository_metadata')
    .select('id')
    .where('last_used_at', '<=', since)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * Deletes metadata that was not used after `since`, and returns the number of deleted rows. Deletes each row in its own
 * statement, so that it never waits for one lock while it holds another.
 */
export async function deleteMetadataUnlessUsed(
  db: Db,
  ids: readonly number[],
  since: number,
): Promise<number> {
  let deleted = 0
  for (const id of ids) {
    const { numDeletedRows } = await db
      .deleteFrom('repository_metadata')
      .where('id', '=', id)
      .where('last_used_at', '<=', since)
      .executeTakeFirst()
    deleted += Number(numDeletedRows)
  }
  return deleted
}
