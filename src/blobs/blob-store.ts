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
  /** The bytes come from another host, which may let us wait. */
  isSlow?: boolean
}

/** There is no blob under that key. */
export class BlobNotFound extends Error {
  override name = 'BlobNotFound'
  readonly key: string

  constructor(key: string, options?: ErrorOptions) {
    super(`there is no blob ${key}`, options)
    this.key = key
  }
}

/** The key is taken, and what it holds stays as it is. */
export class BlobExists extends Error {
  override name = 'BlobExists'
  readonly key: string

  constructor(key: string, options?: ErrorOptions) {
    super(`there is a blob ${key} already`, options)
    this.key = key
  }
}

/** The store does not answer, or has too much to do: the same may well succeed later. */
export class BlobsUnavailable extends Error {
  override name = 'BlobsUnavailable'
}

/**
 * Immutable bytes under keys that are used once: two writers of one key are a mistake, and taking the second's bytes for
 * the first's would go unnoticed, so the second is refused. Names of one attempt each make good keys; shards go by the
 * first two characters, so let those be random.
 */
export interface BlobStore {
  /**
   * Whole or absent at any moment, and durable once it resolves. Rejects with BlobExists when the key is taken, with
   * whatever the bytes threw, or when the signal aborts. A put that failed at its last step may have left the whole blob.
   * A chunk of the bytes need only be good until the next is asked for.
   */
  put(key: string, bytes: Bytes, options?: PutOptions): Promise<void>
  /**
   * Rejects with BlobNotFound, or with RangeError when the blob does not have all of the range. The stream must be read
   * to its end or destroyed; the signal destroys it.
   */
  open(key: string, range?: ByteRange, options?: Abortable): Promise<Readable>
  /** Rejects with BlobNotFound. */
  size(key: string): Promise<number>
  /** Resolves as well when there is no such blob. */
  delete(key: string): Promise<void>
  /** Finished blobs in no particular order. One that comes or goes meanwhile may or may not be among them. */
  list(): AsyncIterable<StoredBlob>
  /** Removes what puts left behind that died at least so long ago; resolves with how many there were. */
  sweepUnfinished(olderThanMs: number): Promise<number>
  /** Resolves when the store answers. */
  probe(options?: Abortable): Promise<void>
}

/** A run of bytes: these, or all of a blob's. */
export type BlobPart = { bytes: Uint8Array; length: number } | { key: string; length: number }

interface Presented {
  filename: string
  contentType: string
  expiresInSeconds: number
}

/** What a store can do besides when its blobs live on a server that clients can reach. */
export interface Composing {
  /** A blob of these parts in order, made where they are; whole or absent, and refused, as with `put`. */
  compose(key: string, parts: readonly BlobPart[], options?: Abortable): Promise<void>
  /** An address that gives the blob to whoever has it, by GET alone: a credential. It does not look for the blob. */
  presign(key: string, as: Presented): Promise<string>
}

/** What a store can do besides when its blobs are files of this machine. */
export interface OnDisk {
  openFile(key: string): Promise<BlobFile>
}

export interface BlobFile extends AsyncDisposable {
  /** Into memory of the reader's own; resolves to how many bytes there were, none at the end. */
  read(into: Uint8Array, at: number): Promise<number>
}

export const isOnDisk = (blobs: BlobStore): blobs is BlobStore & OnDisk => 'openFile' in blobs

export const isComposing = (blobs: BlobStore): blobs is BlobStore & Composing => 'compose' in blobs

const KEY = /^[a-z0-9][a-z0-9-]{0,127}$/

export const isBlobKey = (name: string): boolean => KEY.test(name)

/** Keys become file names and URLs: anything else in one is a programming error. */
export function assertBlobKey(key: string): void {
  if (!isBlobKey(key)) throw new TypeError(`not a key for a blob: ${JSON.stringify(key)}`)
}

export function assertRange(key: string, size: number, { start, end }: ByteRange): void {
  if (!(start >= 0 && start <= end && end <= size)) {
    throw new RangeError(`blob ${key} of ${size} bytes has no range ${start} to ${end}`)
  }
}
