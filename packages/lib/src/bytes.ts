export type Bytes = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

/** The bytes from `start` (inclusive) to `end` (exclusive). */
export interface ByteRange {
  start: number
  end: number
}
