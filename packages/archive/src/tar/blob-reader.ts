import type { Readable } from 'node:stream'
import type { ByteRange } from '@godwit/lib/bytes'

/** Reads the stored segments of archives. */
export interface BlobReader {
  /**
   * Rejects with an error of the store if it does not have the blob, or with RangeError if the blob does not contain the whole range.
   * The stream must be read to its end or destroyed. The signal destroys it.
   */
  open(
    key: string,
    range?: ByteRange,
    options?: { signal?: AbortSignal | undefined },
  ): Promise<Readable>
}

/** Implemented by stores whose blobs are local files. */
export interface DiskStore {
  openFile(key: string): Promise<BlobFile>
}

export interface BlobFile extends AsyncDisposable {
  /** Fills the buffer from position `at`. Resolves to the number of bytes read: 0 at the end of the file. */
  read(into: Uint8Array, at: number): Promise<number>
}

export const isOnDisk = <T extends BlobReader>(blobs: T): blobs is T & DiskStore =>
  'openFile' in blobs
