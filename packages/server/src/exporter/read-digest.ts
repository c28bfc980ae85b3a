import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ByteRange } from '@godwit/lib/bytes'
import { hasCode } from '@godwit/lib/errno'
import { BlobNotFound, type BlobStore } from '../blobs/blob-store.ts'

/** Error codes of unreadable sectors and of filesystem checksums that do not match. */
const READ_ERRORS = ['EIO', 'EUCLEAN', 'EBADMSG'] as const

export interface StoredDigest {
  length: number
  sha256: string
}

export interface Reading {
  signal: AbortSignal
  range?: ByteRange
  /** The maximum rate; unlimited by default. */
  bytesPerSecond?: number
}

/**
 * Returns the length and SHA-256 of a blob, or undefined if it is missing or cannot be read. Rejects with BlobsUnavailable during
 * an outage.
 */
export async function readDigest(
  blobs: BlobStore,
  key: string,
  { signal, range, bytesPerSecond = Infinity }: Reading,
): Promise<StoredDigest | undefined> {
  const sha256 = createHash('sha256')
  const startedAt = performance.now()
  let length = 0
  try {
    for await (const bytes of await blobs.open(key, range, { signal })) {
      sha256.update(bytes)
      length += bytes.length
      const aheadMs = (length / bytesPerSecond) * 1000 - (performance.now() - startedAt)
      if (aheadMs > 1) await sleep(aheadMs, undefined, { signal })
    }
    return { length, sha256: sha256.digest('hex') }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof RangeError || isBlobMissing(error)) return undefined
    throw error
  }
}

/** Whether a blob is missing, or its disk cannot read it. */
export const isBlobMissing = (error: unknown): boolean =>
  error instanceof BlobNotFound || hasCode(error, ...READ_ERRORS)

/** Returns the length of a blob, or undefined if it is missing. */
export async function storedLength(blobs: BlobStore, key: string): Promise<number | undefined> {
  return blobs.size(key).catch((error) => {
    if (!(error instanceof BlobNotFound)) throw error
    return undefined
  })
}
