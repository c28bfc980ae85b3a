import { Readable } from 'node:stream'
import type { Bytes } from '../blobs/blob-store.ts'
import { codeOf } from '../lib/errno.ts'
import { ByteReader, GzipDamaged, gunzip, isGzip } from './gunzip.ts'
import { isTarHeader } from './read-tar-header.ts'
import { TAR_BLOCK } from './tar-header.ts'
import { ArchiveDamaged, ArchiveNotSupported } from './unreadable-archive.ts'

/** Other file types by their first bytes. */
const OTHER_TYPES: [begins: Buffer, name: string][] = [
  [Buffer.from('PK\x03\x04'), 'a zip file'],
  [Buffer.from('PK\x05\x06'), 'an empty zip file'],
  [Buffer.from('\xfd7zXZ\0', 'latin1'), 'compressed with xz'],
  [Buffer.from('28b52ffd', 'hex'), 'compressed with zstd'],
  [Buffer.from('BZh'), 'compressed with bzip2'],
  [Buffer.from('04224d18', 'hex'), 'compressed with lz4'],
  [Buffer.from('\x1f\x9d', 'latin1'), 'compressed with compress'],
  [Buffer.from("7z\xbc\xaf'\x1c", 'latin1'), 'a 7z file'],
  [Buffer.from('Rar!'), 'a RAR file'],
  [Buffer.from('# v2 git bundle'), 'a git bundle'],
  [Buffer.from('# v3 git bundle'), 'a git bundle'],
  [Buffer.from('<'), 'a web page or XML'],
  [Buffer.from('{'), 'JSON, perhaps the response of a server'],
]

/** Opens a tar, plain or gzipped. Rejects with ArchiveNotSupported or ArchiveDamaged. */
export async function openTar(archive: Bytes, signal?: AbortSignal): Promise<PlainBytes> {
  const stream = Readable.from(archive, { highWaterMark: 1, ...(signal && { signal }) })
  const bytes = new ByteReader(stream)
  try {
    const start = await bytes.peek(TAR_BLOCK)
    if (isGzip(start)) return new PlainBytes(closing(bytes, gunzip(bytes)))
    if (isTarHeader(start)) return new PlainBytes(closing(bytes, allOf(bytes)))
    throw errorForType(start)
  } catch (error) {
    await bytes.close()
    throw error
  }
}

async function* closing(
  bytes: ByteReader,
  content: AsyncGenerator<Buffer>,
): AsyncGenerator<Buffer> {
  try {
    yield* content
  } finally {
    await bytes.close()
  }
}

async function* allOf(bytes: ByteReader): AsyncGenerator<Buffer> {
  for (;;) {
    const some = await bytes.some(Infinity)
    if (some.length === 0) return
    yield some
  }
}

function errorForType(start: Buffer): Error {
  const [, name] =
    OTHER_TYPES.find(([begins]) => start.subarray(0, begins.length).equals(begins)) ?? []
  if (name)
    return new ArchiveNotSupported(`it is ${name}; only a tar, plain or gzipped, can be read`)
  if (start.length === 0) return new ArchiveDamaged('the file is empty')
  if (start.length < TAR_BLOCK) return new ArchiveDamaged('it ends too early')
  return new ArchiveDamaged('it is not an archive: neither gzip nor tar')
}

/** Reads the bytes of a tar by length. Errors of gzip are reported with the offset in the tar. */
export class PlainBytes {
  readonly #bytes: ByteReader

  constructor(tar: AsyncIterable<Uint8Array>) {
    this.#bytes = new ByteReader(tar)
  }

  get offset(): number {
    return this.#bytes.offset
  }

  /** Returns the bytes that are available, at most `max`. Throws ArchiveDamaged at the end. */
  async some(max: number): Promise<Buffer> {
    const bytes = await this.#bytes.some(max).catch(this.#rethrow)
    if (bytes.length === 0) throw new ArchiveDamaged('it ends too early', this.offset)
    return bytes
  }

  /** Returns `length` bytes, or fewer at the end. */
  async take(length: number): Promise<Buffer> {
    return this.#bytes.take(length).catch(this.#rethrow)
  }

  async exactly(length: number): Promise<Buffer> {
    const bytes = await this.take(length)
    if (bytes.length < length) throw new ArchiveDamaged('it ends too early', this.offset)
    return bytes
  }

  async close(): Promise<void> {
    await this.#bytes.close()
  }

  /** Errors of zlib mean damage. Others are errors of the stream itself. */
  readonly #rethrow = (error: unknown): never => {
    const isCorruption = error instanceof GzipDamaged || codeOf(error)?.startsWith('Z_')
    if (!isCorruption) throw error
    throw new ArchiveDamaged((error as Error).message, this.offset, { cause: error })
  }
}
