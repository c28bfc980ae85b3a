import type { BlobStore } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { archiveKeysAmong, expiredArchives, removeArchive } from '../migrations/archive-store.ts'
import { segmentsByKey } from '../migrations/segment-store.ts'
import { deleteUnusedSegment, unusedSegments } from '../migrations/segment-sweep.ts'
import { deleteOldTallies } from '../migrations/tally-store.ts'
import { claimBlobStore, isOwnerMark } from './claim-blob-store.ts'

export interface SweepParts {
  db: Db
  blobs: BlobStore
  now: () => number
  segmentTtlMs: number
}

/** Ends archives whose time is over and removes segments that nobody has used for long. */
export async function sweep(parts: SweepParts): Promise<void> {
  await sweepArchives(parts)
  await sweepSegments(parts)
}

export async function sweepArchives(parts: SweepParts): Promise<void> {
  const { db, now } = parts
  for (const migrationId of await expiredArchives(db, now())) {
    await removeArchive(parts, migrationId)
  }
  await deleteOldTallies(db, now())
}

/** Row first, bytes last. Reads the lists of all archives there are, so it is not to be done every minute. */
export async function sweepSegments({ db, blobs, now, segmentTtlMs }: SweepParts): Promise<void> {
  const since = now() - segmentTtlMs
  for (const segment of await unusedSegments(db, since)) {
    if (await deleteUnusedSegment(db, segment)) await blobs.delete(segment.key)
  }
}

/**
 * Removes bytes that no row names: of a segment whose export died between writing it and recording it, or of a deletion
 * that died half-way. Anything younger than `olderThanMs` may still be on its way to its row. Rejects with StoreOwnedByAnotherDatabase where
 * the store is another database's.
 */
export async function sweepOrphans(
  { db, blobs, now }: Pick<SweepParts, 'db' | 'blobs' | 'now'>,
  olderThanMs: number,
): Promise<void> {
  await claimBlobStore(db, blobs)
  await blobs.sweepUnfinished(olderThanMs)
  const before = olderThanMs > 0 ? now() - olderThanMs : Infinity
  let some: string[] = []
  const removeSome = async () => {
    const segments = await segmentsByKey(db, some)
    const archives = await archiveKeysAmong(db, some)
    for (const key of some) {
      if (!segments.has(key) && !archives.has(key)) await blobs.delete(key)
    }
    some = []
  }
  for await (const { key, modifiedAt } of blobs.list()) {
    if (modifiedAt > before || isOwnerMark(key)) continue
    some.push(key)
    if (some.length === 500) await removeSome()
  }
  await removeSome()
}
