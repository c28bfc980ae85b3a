import { setImmediate as nextTurn } from 'node:timers/promises'
import { crc32, createInflateRaw, type InflateRaw } from 'node:zlib'
import { writeChunk } from '@godwit/lib/chunks'
import { codeOf } from '@godwit/lib/errno'
import { ArchiveDamaged } from './unreadable-archive.ts'

/** The data is not valid gzip. */
class GzipDamaged extends Error {}

/** The limit for the file name and the comment in the header. */
const MAX_FIELD_BYTES = 64 * 1024
const MAX_PADDING_BYTES = 16 * 1024 * 1024

/**
 * Yields the content of all gzip members, and closes the reader at the end. Zeros may follow the members. Throws ArchiveDamaged with the
 * offset in the content. If a checksum is wrong, the content has been yielded already, including the manifest, with which the caller
 * finds the damaged files.
 */
export async function* gunzip(gzip: ByteReader): AsyncGenerator<Buffer> {
  let offset = 0
  try {
    do {
      await skipHeader(gzip)
      for await (const chunk of inflated(gzip)) {
        offset += chunk.length
        yield chunk
      }
    } while (await hasAnother(gzip))
  } catch (error) {
    // Errors of zlib mean damage. Others are errors of the stream itself.
    if (!(error instanceof GzipDamaged) && !codeOf(error)?.startsWith('Z_')) throw error
    throw new ArchiveDamaged((error as Error).message, offset, { cause: error })
  } finally {
    await gzip.close()
  }
}

const [HAS_CRC, HAS_EXTRA, HAS_NAME, HAS_COMMENT, RESERVED] = [2, 4, 8, 16, 0xe0]

async function skipHeader(gzip: ByteReader): Promise<void> {
  const head = await exactly(gzip, 10)
  const flags = head[3]!
  if (!isGzip(head)) throw new GzipDamaged('incorrect header check')
  if (head[2] !== 8) throw new GzipDamaged('unknown compression method')
  if (flags & RESERVED) throw new GzipDamaged('unknown header flags set')
  if (flags & HAS_EXTRA) await exactly(gzip, (await exactly(gzip, 2)).readUInt16LE(0))
  if (flags & HAS_NAME) await skipText(gzip)
  if (flags & HAS_COMMENT) await skipText(gzip)
  if (flags & HAS_CRC) await exactly(gzip, 2)
}

export const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b

async function skipText(gzip: ByteReader): Promise<void> {
  const start = gzip.offset
  while ((await exactly(gzip, 1))[0] !== 0)
    if (gzip.offset - start > MAX_FIELD_BYTES) throw new GzipDamaged('incorrect header check')
}

async function exactly(gzip: ByteReader, length: number): Promise<Buffer> {
  const bytes = await gzip.take(length)
  if (bytes.length < length) throw new GzipDamaged('unexpected end of file')
  return bytes
}

async function* inflated(gzip: ByteReader): AsyncGenerator<Buffer> {
  const inflate = createInflateRaw({ chunkSize: 256 * 1024 })
  const fed = feed(gzip, inflate)
  fed.catch((error: Error) => inflate.destroy(error))
  let [crc, length] = [0, 0]
  try {
    for await (const chunk of inflate as AsyncIterable<Buffer>) {
      crc = crc32(chunk, crc)
      length += chunk.length
      yield chunk
    }
    await fed
  } finally {
    inflate.destroy()
    await fed.catch(() => {})
  }
  const trailer = await exactly(gzip, 8)
  if (trailer.readUInt32LE(0) !== crc) throw new GzipDamaged('incorrect data check')
  if (trailer.readUInt32LE(4) !== length % 2 ** 32) throw new GzipDamaged('incorrect length check')
}

/** Writes to zlib until the member ends, and puts the remaining bytes back. */
async function feed(gzip: ByteReader, inflate: InflateRaw): Promise<void> {
  for (;;) {
    const chunk = await gzip.some(Infinity)
    if (chunk.length === 0) {
      // Destroying the stream would discard output that was not read yet.
      while (inflate.readableLength > 0 && !inflate.destroyed) await nextTurn()
      throw new GzipDamaged('unexpected end of file')
    }
    const before = inflate.bytesWritten
    if (!(await writeChunk(inflate, chunk))) return
    const taken = inflate.bytesWritten - before
    if (taken === chunk.length) continue
    gzip.putBack(chunk.subarray(taken))
    return
  }
}

async function hasAnother(gzip: ByteReader): Promise<boolean> {
  const next = await gzip.peek(2)
  if (next.length === 0) return false
  if (isGzip(next)) return true
  for (let padding = 0; padding <= MAX_PADDING_BYTES; ) {
    const some = await gzip.some(Infinity)
    if (some.length === 0) return false
    if (some.some((byte) => byte !== 0)) break
    padding += some.length
  }
  throw new GzipDamaged('trailing junk after the end of the gzip')
}

/** Reads bytes by length from a stream of chunks. */
export class ByteReader {
  offset = 0
  readonly #chunks: AsyncIterator<Uint8Array>
  #ahead: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** Returns the bytes that are available, at most `max`. Empty only at the end. */
  async some(max: number): Promise<Buffer> {
    while (this.#ahead.length === 0) {
      const next = await this.#chunks.next()
      if (next.done) break
      const { buffer, byteOffset, byteLength } = next.value
      this.#ahead = Buffer.from(buffer, byteOffset, byteLength)
    }
    const bytes = this.#ahead.subarray(0, max)
    this.#ahead = this.#ahead.subarray(bytes.length)
    this.offset += bytes.length
    return bytes
  }

  /** Returns `length` bytes, or fewer at the end. */
  async take(length: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for (let left = length; left > 0; left -= parts.at(-1)!.length) {
      const some = await this.some(left)
      if (some.length === 0) break
      parts.push(some)
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }

  /** Returns the next bytes without taking them. */
  async peek(length: number): Promise<Buffer> {
    const bytes = await this.take(length)
    this.putBack(bytes)
    return bytes
  }

  /** Puts back the bytes that were taken last. */
  putBack(bytes: Buffer): void {
    this.#ahead = this.#ahead.length === 0 ? bytes : Buffer.concat([bytes, this.#ahead])
    this.offset -= bytes.length
  }

  async close(): Promise<void> {
    await this.#chunks.return?.()
  }
}
