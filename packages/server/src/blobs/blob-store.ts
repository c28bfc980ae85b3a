import type { Readable } from 'node:stream'
import type { BlobReader } from '@godwit/archive/tar/blob-reader'
import type { ByteRange, Bytes } from '@godwit/lib/bytes'

export interface StoredBlob {
  key: string
  size: number
  /** Epoch milliseconds. */
  modifiedAt: number
}

export interface Abortable {
  signal?: AbortSignal | undefined
}

export interface PutOptions extends Abortable {
  /** Set if the bytes come from another host, which may be slow. Such puts delay only each other. */
  isSlow?: boolean
}

export class BlobNotFound extends Error {
  override name = 'BlobNotFound'

  constructor(key: string, options?: ErrorOptions) {
    super(`blob ${key} does not exist`, options)
  }
}

/** Another blob has this key already. It is unchanged. */
export class BlobExists extends Error {
  override name = 'BlobExists'

  constructor(key: string, options?: ErrorOptions) {
    super(`blob ${key} already exists`, options)
  }
}

/** The store does not respond or is overloaded. A later attempt may succeed. */
export class BlobsUnavailable extends Error {
  override name = 'BlobsUnavailable'
}

/**
 * Stores immutable bytes. Use a new random key for each attempt to store a blob: a second blob with the same key is refused, and
 * the first two characters of the key choose the shard.
 */
export interface BlobStore extends BlobReader {
  /**
   * Stores a blob. At any moment it is complete or absent, and it is durable once the promise resolves. Rejects with BlobExists,
   * with the error that `bytes` threw, or when the signal aborts. If the last step of a put fails, the complete blob may exist.
   * The memory of a chunk may be reused when the second one after it is requested.
   */
  put(key: string, bytes: Bytes, options?: PutOptions): Promise<void>
  /**
   * Rejects with BlobNotFound, or with RangeError if the blob does not contain the whole range. The stream must be read to its
   * end or destroyed. The signal destroys it.
   */
  open(key: string, range?: ByteRange, options?: Abortable): Promise<Readable>
  /** Rejects with BlobNotFound. */
  size(key: string): Promise<number>
  /** Also resolves if the blob does not exist. */
  delete(key: string): Promise<void>
  /** Lists finished blobs in any order. Blobs that are added or deleted meanwhile may be missing. */
  list(): AsyncIterable<StoredBlob>
  /**
   * Removes the leftovers of puts that wrote nothing for `olderThanMs`, and resolves to the number of such puts. 0 also aborts puts that
   * are running.
   */
  sweepUnfinished(olderThanMs: number): Promise<number>
  /** Resolves if the store responds. */
  probe(options?: Abortable): Promise<void>
}

/** Bytes in memory, or a complete stored blob. */
export type BlobPart = { bytes: Uint8Array; length: number } | { key: string; length: number }

interface PresignOptions {
  filename: string
  contentType: string
  expiresInSeconds: number
}

/** Implemented by stores on a server that clients can reach. */
export interface ComposingStore {
  /**
   * Concatenates parts to a new blob without downloading large ones. As with `put`, the blob is complete or absent, and the same
   * errors are possible. Resolves to false, without storing anything, if there are more parts than the store accepts.
   */
  compose(key: string, parts: readonly BlobPart[], options?: Abortable): Promise<boolean>
  /** Returns a URL that allows anyone to GET the blob, so it is a credential. Does not check that the blob exists. */
  presign(key: string, options: PresignOptions): Promise<string>
}

export const isComposing = (blobs: BlobStore): blobs is BlobStore & ComposingStore =>
  'compose' in blobs

const KEY = /^[a-z0-9][a-z0-9-]{0,127}$/

export const isBlobKey = (name: string): boolean => KEY.test(name)

/** Keys become file names and URLs, so an invalid key is a programming error. */
export function assertBlobKey(key: string): void {
  if (!isBlobKey(key)) throw new TypeError(`invalid blob key: ${JSON.stringify(key)}`)
}

export function assertRange(key: string, size: number, { start, end }: ByteRange): void {
  if (!(start >= 0 && start <= end && end <= size)) {
    throw new RangeError(`blob ${key} of ${size} bytes has no range ${start} to ${end}`)
  }
}
