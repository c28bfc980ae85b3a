import { kMaxLength } from 'node:buffer'
import { constants, createInflate } from 'node:zlib'

/** What Node's streams of zlib have beside their documented methods. npm depends on the same through `minizlib`. */
interface Engine {
  _handle: { close(): void } | null
  /** Processes a whole stream. The result is valid until the next call if it fits into one chunk. */
  _processChunk(input: Uint8Array, flush: number): Buffer
  bytesWritten: number
  reset(): void
  removeAllListeners(event: string): void
}

interface Inflated {
  /** Valid until the next call. */
  output: Buffer
  /** How many bytes of the input belong to the stream. */
  used: number
}

/** Longer results are collected from several chunks. */
const CHUNK_BYTES = 128 * 1024
/** Without it, an engine accepts only windows as small as that of its first stream. */
const MAX_WINDOW_BITS = 15

/**
 * Returns a function that inflates one short stream after the other with the same engine of zlib. `inflateSync` makes a new one for each,
 * which takes as long as inflating a few kilobytes and keeps the garbage collector busy. Throws zlib's error for a stream that is
 * damaged, truncated or too long. (A deflater must not be reused: it would give other bytes after another stream.)
 */
export function createInflater(maxOutputLength = kMaxLength): (input: Uint8Array) => Inflated {
  const options = { chunkSize: CHUNK_BYTES, maxOutputLength, windowBits: MAX_WINDOW_BITS }
  let engine: Engine | undefined
  return (input) => {
    const current = engine ?? (createInflate(options) as unknown as Engine)
    // An engine that has failed cannot be used again.
    engine = undefined
    const handle = current._handle!
    // Node closes the handle after each synchronous call.
    handle.close = () => {}
    current.reset()
    const output = current._processChunk(input, constants.Z_FINISH)
    current._handle = handle
    // Each call adds one.
    current.removeAllListeners('error')
    engine = current
    return { output, used: current.bytesWritten }
  }
}
