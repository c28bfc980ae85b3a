import type { Readable } from 'node:stream'

export type Bytes = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

/** From `start` up to, not including, `end`. */
export interface ByteRange {
  start: number
  end: number
}

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
  readonly key: string

  constructor(key: string, options?: ErrorOptions) {
    super(`there is no blob ${key}`, options)
    this.key = key
  }
}

/** A blob with this key exists. It is not changed. */
export class BlobExists extends Error {
  override name = 'BlobExists'
  readonly key: string

  constructor(key: string, options?: ErrorOptions) {
    super(`there is a blob ${key} already`, options)
    this.key = key
  }
}

/** The store does not answer or is overloaded. A later attempt may succeed. */
export class BlobsUnavailable extends Error {
  override name = 'BlobsUnavailable'
}

/**
 * Stores immutable bytes under keys that are used once. Two writers with the same key are a mistake that could go unnoticed, so
 * the second is refused. Use a new random key for each attempt: the first two characters choose the shard.
 */
export interface BlobStore {
  /**
   * Stores a blob. At any moment it is complete or absent, and it is durable once the promise resolves. Rejects with BlobExists,
   * with the error that `bytes` threw, or when the signal aborts. A put that failed in its last step may have left the complete
   * blob. A chunk may be overwritten when the next one is requested.
   */
  put(key: string, bytes: Bytes, options?: PutOptions): Promise<void>
  /**
   * Rejects with BlobNotFound, or with RangeError if the blob does not contain the whole range. The stream must be read to its
   * end or destroyed. The signal destroys it.
   */
  open(key: string, range?: ByteRange, options?: Abortable): Promise<Readable>
  /** Rejects with BlobNotFound. */
  size(key: string): Promise<number>
  /** Resolves also if there is no such blob. */
  delete(key: string): Promise<void>
  /** Lists finished blobs in any order. Blobs that are added or deleted meanwhile may be missing. */
  list(): AsyncIterable<StoredBlob>
  /** Removes what is left of puts that stopped at least so long ago, and resolves with their number. */
  sweepUnfinished(olderThanMs: number): Promise<number>
  /** Resolves when the store answers. */
  probe(options?: Abortable): Promise<void>
}

/** Some bytes, or a whole blob. */
export type BlobPart = { bytes: Uint8Array; length: number } | { key: string; length: number }

interface Presented {
  filename: string
  contentType: string
  expiresInSeconds: number
}

/** Implemented by stores on a server that clients can reach. */
export interface ComposingStore {
  /** Concatenates parts to a new blob without downloading large ones. Complete or absent, and rejects, as `put` does. */
  compose(key: string, parts: readonly BlobPart[], options?: Abortable): Promise<void>
  /** Returns a URL that allows anyone to GET the blob, so it is a credential. Does not check that the blob exists. */
  presign(key: string, as: Presented): Promise<string>
}

/** Implemented by stores whose blobs are local files. */
export interface DiskStore {
  openFile(key: string): Promise<BlobFile>
}

export interface BlobFile extends AsyncDisposable {
  /** Reads into the given memory and resolves with the number of bytes: 0 at the end. */
  read(into: Uint8Array, at: number): Promise<number>
}

export const isOnDisk = (blobs: BlobStore): blobs is BlobStore & DiskStore => 'openFile' in blobs

export const isComposing = (blobs: BlobStore): blobs is BlobStore & ComposingStore =>
  'compose' in blobs

const KEY = /^[a-z0-9][a-z0-9-]{0,127}$/

export const isBlobKey = (name: string): boolean => KEY.test(name)

/** Keys become file names and URLs, so an invalid key is a programming error. */
export function assertBlobKey(key: string): void {
  if (!isBlobKey(key)) throw new TypeError(`not a key for a blob: ${JSON.stringify(key)}`)
}

export function assertRange(key: string, size: number, { start, end }: ByteRange): void {
  if (!(start >= 0 && start <= end && end <= size)) {
    throw new RangeError(`blob ${key} of ${size} bytes has no range ${start} to ${end}`)
  }
}
