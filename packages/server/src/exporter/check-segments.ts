import { hash } from 'node:crypto'
import { planArchive } from '@godwit/archive/tar/plan-archive'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { archiveSegments } from '../migrations/archive-store.ts'
import type { OutcomeLog } from '../migrations/end-migration.ts'
import {
  type CheckResult,
  type ComposedArchive,
  oldestChecks,
  oldestComposedChecks,
  recordComposedCheck,
  recordDamaged,
  recordIntact,
} from '../migrations/segment-check-store.ts'
import {
  type CheckedSegment,
  findSegments,
  type SegmentRecord,
} from '../migrations/segment-store.ts'
import { isClaimed, StoreNotOwned } from './blob-store-owner.ts'
import type { SegmentMaker } from './make-segment.ts'
import { type Reading, readDigest, type StoredDigest, storedLength } from './read-digest.ts'

interface CheckDependencies {
  db: Db
  blobs: BlobStore
  now: () => number
  /** Damaged blobs are logged here. */
  log?: Pick<OutcomeLog, 'error'> | undefined
}

export interface ReuseDependencies extends CheckDependencies {
  segments: Pick<SegmentMaker, 'digest'>
  /** If the last check of a segment is older, the segment is read and compared with its digest before it is reused. */
  segmentCheckAgeMs: number
}

/**
 * Returns the key of the segment with this fingerprint, or undefined if none can be reused. Compares the length, or also the digest
 * if the last check is too old. A damaged segment is recorded as damaged and is not found again.
 */
export async function findReusable(
  dependencies: ReuseDependencies,
  fingerprint: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const segment = (await findSegments(dependencies.db, [fingerprint])).get(fingerprint)
  if (!segment) return undefined
  const { key, length } = segment
  if (isRecentlyChecked(dependencies, segment)) {
    if ((await storedLength(dependencies.blobs, key)) === length) return key
    await recordDamage(dependencies, segment)
    return undefined
  }
  const result = await recordResult(
    dependencies,
    segment,
    await dependencies.segments.digest(key, signal),
  )
  return result === 'intact' ? key : undefined
}

/** Whether a segment may be reused without reading it. */
export const isRecentlyChecked = (
  { now, segmentCheckAgeMs }: Pick<ReuseDependencies, 'now' | 'segmentCheckAgeMs'>,
  { checkedAt }: CheckedSegment,
): boolean => checkedAt >= now() - segmentCheckAgeMs

/** Records the result of a check. Returns undefined if the segment was swept meanwhile. */
async function recordResult(
  dependencies: CheckDependencies,
  segment: SegmentRecord,
  found: StoredDigest | undefined,
): Promise<CheckResult | undefined> {
  if (found?.length !== segment.length || found.sha256 !== segment.sha256)
    return recordDamage(dependencies, segment)
  await recordIntact(dependencies.db, segment, dependencies.now())
  return 'intact'
}

/** Throws without recording anything if the store lacks this database's mark: then it is another store, or not mounted. */
async function recordDamage(
  { db, blobs, log, now }: CheckDependencies,
  { key }: SegmentRecord,
): Promise<'damaged' | undefined> {
  if ((await storedLength(blobs, key)) === undefined && !(await isClaimed(db, blobs)))
    throw new StoreNotOwned()
  const recorded = await db.transaction().execute((tx) => recordDamaged(tx, [key], now()))
  if (recorded.length === 0) return undefined
  log?.error({ segment: key }, 'stored data is damaged; the next migration exports it again')
  return 'damaged'
}

const BATCH_SIZE = 100

/**
 * Reads all segments and composed archives whose last check is before `before`, the oldest check first, and compares them with
 * their digests. The result of each is recorded before the next is read.
 */
export async function* checkStore(
  dependencies: CheckDependencies,
  { before, bytesPerSecond = Infinity }: { before: number; bytesPerSecond?: number },
  signal: AbortSignal,
): AsyncGenerator<{ bytes: number; result: CheckResult }> {
  const { db, blobs, log } = dependencies
  const reading = { signal, bytesPerSecond }
  // Not earlier than `before`, even if the clock is set back: otherwise a checked segment would be listed again.
  const now = () => Math.max(dependencies.now(), before)
  for (let isMore = true; isMore; ) {
    const segments = await oldestChecks(db, before, BATCH_SIZE)
    for (const segment of segments) {
      const digest = await readDigest(blobs, segment.key, reading)
      const result = await recordResult({ ...dependencies, now }, segment, digest)
      if (result) yield { bytes: segment.length, result }
    }
    const archives = await oldestComposedChecks(db, before, BATCH_SIZE)
    for (const archive of archives) {
      const { length, isIntact } = await readComposed(dependencies, archive, reading)
      const result = isIntact ? 'intact' : 'damaged'
      if (!(await recordComposedCheck(db, { ...archive, length }, result, now()))) continue
      if (!isIntact) {
        const fields = { migration: archive.migrationId, blob: archive.key }
        log?.error(
          fields,
          'the archive in the bucket is damaged; downloads use its segments instead',
        )
        await blobs.delete(archive.key)
      }
      yield { bytes: length, result }
    }
    isMore = segments.length + archives.length > 0
  }
}

/** Checks whether a composed archive has the bytes of its segments. An archive that was deleted meanwhile counts as intact. */
async function readComposed(
  { db, blobs }: CheckDependencies,
  { migrationId, key }: ComposedArchive,
  reading: Reading,
): Promise<{ length: number; isIntact: boolean }> {
  const segments = await archiveSegments(db, { id: migrationId })
  if (segments.length === 0) return { length: 0, isIntact: true }
  const digests = new Map(segments.map((segment) => [segment.key, segment.sha256]))
  const { parts, length } = planArchive(segments)
  if ((await storedLength(blobs, key)) !== length) return { length, isIntact: false }
  let start = 0
  for (const part of parts) {
    const range = { start, end: start + part.length }
    start = range.end
    const expected = 'bytes' in part ? hash('sha256', part.bytes) : digests.get(part.key)
    const found = await readDigest(blobs, key, { ...reading, range })
    if (found?.sha256 !== expected) return { length, isIntact: false }
  }
  return { length, isIntact: true }
}
