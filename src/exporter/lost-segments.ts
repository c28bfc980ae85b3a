import { BlobMissing, type BlobStore } from '../blobs/blob-store.ts'
import { inLanes } from '../ground/lanes.ts'
import type { SegmentRecord } from '../migrations/segment-store.ts'

const ASKED_AT_ONCE = 16

/**
 * Those whose bytes the store does not have whole. Rows and bytes part where one of them was restored from a backup, and
 * an archive of what is gone could never be read.
 */
export async function lostSegments(
  blobs: BlobStore,
  segments: readonly SegmentRecord[],
  signal: AbortSignal,
): Promise<SegmentRecord[]> {
  const lost: SegmentRecord[] = []
  await inLanes(segments, { lanes: ASKED_AT_ONCE, signal }, async (segment) => {
    if ((await sizeIn(blobs, segment.key)) !== segment.length) lost.push(segment)
  })
  return lost
}

async function sizeIn(blobs: BlobStore, key: string): Promise<number | undefined> {
  try {
    return await blobs.size(key)
  } catch (error) {
    if (error instanceof BlobMissing) return undefined
    throw error
  }
}
