import type { BlobStore } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { archiveKeysAmong, expiredArchives, removeArchive } from '../migrations/archive-store.ts'
import { segmentsByKey } from '../migrations/segment-store.ts'
import { deleteUnusedSegment, unusedSegments } from '../migrations/segment-sweep.ts'
import { deleteOldTallies } from '../migrations/tally-store.ts'
import { claimBlobStore, isOwnerMark } from './own-store.ts'

interface SweepParts {
  db: Db
  blobs: BlobStore
  now: () => number
  segmentTtlMs: number
}

/** Removes expired archives, and old tallies. */
export async function sweepArchives(parts: SweepParts): Promise<void> {
  const { db, now } = parts
  for (const migrationId of await expiredArchives(db, now())) {
    await removeArchive(parts, migrationId)
  }
  await deleteOldTallies(db, now())
}

/** Deletes the row first, then the bytes. Reads the segment lists of all archives, so it should not run every minute. */
export async function sweepSegments({ db, blobs, now, segmentTtlMs }: SweepParts): Promise<void> {
  const since = now() - segmentTtlMs
  for (const segment of await unusedSegments(db, since)) {
    if (await deleteUnusedSegment(db, segment)) await blobs.delete(segment.key)
  }
}

/**
 * Removes blobs without a row: segments whose export crashed between writing the bytes and the row, and leftovers of interrupted
 * deletions. Keeps blobs that are younger than `olderThanMs`, which may still get a row. Rejects like claimBlobStore.
 */
export async function sweepOrphans(
  { db, blobs, now }: Pick<SweepParts, 'db' | 'blobs' | 'now'>,
  olderThanMs: number,
): Promise<void> {
  await claimBlobStore(db, blobs)
  await blobs.sweepUnfinished(olderThanMs)
  const before = olderThanMs > 0 ? now() - olderThanMs : Infinity
  let batch: string[] = []
  const removeOrphans = async () => {
    const segments = await segmentsByKey(db, batch)
    const archives = await archiveKeysAmong(db, batch)
    for (const key of batch) {
      if (!segments.has(key) && !archives.has(key)) await blobs.delete(key)
    }
    batch = []
  }
  for await (const { key, modifiedAt } of blobs.list()) {
    if (modifiedAt > before || isOwnerMark(key)) continue
    batch.push(key)
    if (batch.length === 500) await removeOrphans()
  }
  await removeOrphans()
}
