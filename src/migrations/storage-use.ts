import type { Db } from '../db/database.ts'
import { countArchives } from './archive-store.ts'
import { countSegments } from './segment-store.ts'
import { bytesOfUnusedSegments } from './segment-sweep.ts'

/** Bytes that the store really holds: a segment counts once, however many archives are lists of it. */
export interface StorageUse {
  segments: number
  archives: number
  /** Of segments that an archive or an unfinished migration uses, and of archives that are kept whole. */
  archiveBytes: number
  /** Of segments that are kept only to be reused. */
  reuseBytes: number
}

/** Which segments are used is found by reading the lists of all archives there are: no more often than that. */
const KEPT_MS = 60_000

/** Reads it at most once a minute for each process, except for what is counted as it happens. */
export function storageUse({ db, now }: { db: Db; now: () => number }): () => Promise<StorageUse> {
  let unused: { bytes: Promise<number>; readAt: number } | undefined
  return async () => {
    if (!unused || Math.abs(now() - unused.readAt) > KEPT_MS) {
      unused = { bytes: bytesOfUnusedSegments(db), readAt: now() }
      unused.bytes.catch(() => {
        unused = undefined
      })
    }
    const [segments, archives, unusedBytes] = await Promise.all([
      countSegments(db),
      countArchives(db),
      unused.bytes,
    ])
    const reuseBytes = Math.min(unusedBytes, segments.bytes)
    return {
      segments: segments.count,
      archives: archives.count,
      archiveBytes: segments.bytes - reuseBytes + archives.wholeBytes,
      reuseBytes,
    }
  }
}
