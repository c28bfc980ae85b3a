import { randomUUID } from 'node:crypto'
import type { Db } from '../db/database.ts'
import {
  fingerprintsOf,
  insertSegment,
  lastVerified,
  markSegmentsUsed,
} from '../migrations/segment-store.ts'
import type { RepositoryMetadata } from '../repositories/repository-metadata.ts'
import { findReusable, type ReuseDependencies } from './check-segments.ts'
import type { SegmentMaker, SegmentProgress } from './make-segment.ts'

interface ObtainDependencies extends ReuseDependencies {
  segments: SegmentMaker
}

export interface Obtained {
  segmentKey: string
  /** Whether the repository was exported before and has not changed since. */
  reused: boolean
  bytes: number
}

interface ObtainOptions<T> {
  metadata: RepositoryMetadata
  /** Runs `work` in a transaction. */
  transact(work: (tx: Db) => Promise<T>): Promise<T>
  /** Records the result in the transaction that takes the segment into use. */
  onObtained(tx: Db, obtained: Obtained): Promise<T>
  /** Called while a new segment is made. */
  onProgress?(progress: SegmentProgress): void
}

/**
 * Finds the segment of a repository in its current state, or makes it. The thread that examines the repository gets the
 * fingerprints of its stored segments, so that it need not be examined twice. Bytes are written first, then the row.
 */
export async function obtainSegment<T>(
  dependencies: ObtainDependencies,
  { metadata, transact, onObtained, onProgress }: ObtainOptions<T>,
  signal: AbortSignal,
): Promise<T> {
  const { db, blobs, now } = dependencies
  const { id, owner, name } = metadata
  // A stored segment that turns out to be damaged is no longer listed, so a second pass makes a new one.
  for (;;) {
    const { segment, fingerprint, bytes } = await dependencies.segments.make(
      {
        repository: { owner: owner.login, name },
        key: randomUUID(),
        lastVerified: await lastVerified(db, id),
        storedFingerprints: await fingerprintsOf(db, [id]),
      },
      signal,
      (progress) => onProgress?.(progress),
    )
    // Called for a new segment as well: it records a damaged segment with the same fingerprint, perhaps of a deleted repository, as
    // damaged. Otherwise `insertSegment` would return that one instead of inserting the new one.
    const storedKey = await findReusable(dependencies, segment?.fingerprint ?? fingerprint, signal)
    if (segment) {
      let segmentKey = segment.key
      const ended = await transact(async (tx) => {
        segmentKey = await insertSegment(tx, { ...segment, repositoryId: id }, now())
        return onObtained(tx, { segmentKey, reused: false, bytes })
      })
      // Another export was first to record a segment with this fingerprint.
      if (segmentKey !== segment.key) await blobs.delete(segment.key)
      return ended
    }
    if (storedKey === undefined) continue
    return transact(async (tx) => {
      const used = await markSegmentsUsed(tx, [storedKey], now())
      if (!used.has(storedKey)) throw new Error('the segment was swept or is damaged')
      return onObtained(tx, { segmentKey: storedKey, reused: true, bytes })
    })
  }
}
