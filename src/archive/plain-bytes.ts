import { codeOf } from '../ground/errno.ts'
import { ByteReader } from './byte-reader.ts'
import { GzipDamaged } from './gunzip.ts'
import { ArchiveDamaged } from './unreadable-archive.ts'

/** The bytes of a tar, by the length. What is wrong with the gzip around it is told by where in the tar that is. */
export class PlainBytes {
  readonly #bytes: ByteReader

  constructor(tar: AsyncIterable<Uint8Array>) {
    this.#bytes = new ByteReader(tar)
  }

  get offset(): number {
    return this.#bytes.offset
  }

  /** What is at hand, at most that many bytes. */
  async some(max: number): Promise<Buffer> {
    const bytes = await this.#bytes.upTo(max).catch(this.#rethrow)
    if (bytes.length === 0) throw new ArchiveDamaged('it ends too early', this.offset)
    return bytes
  }

  /** Fewer only where the end comes first. */
  async upTo(length: number): Promise<Buffer> {
    return this.#bytes.take(length).catch(this.#rethrow)
  }

  async exactly(length: number): Promise<Buffer> {
    const bytes = await this.upTo(length)
    if (bytes.length < length) throw new ArchiveDamaged('it ends too early', this.offset)
    return bytes
  }

  async close(): Promise<void> {
    await this.#bytes.close()
  }

  /** What zlib cannot make sense of is damage; anything else is the stream's own failure. */
  readonly #rethrow = (error: unknown): never => {
    const isDamage = error instanceof GzipDamaged || codeOf(error)?.startsWith('Z_')
    if (!isDamage) throw error
    throw new ArchiveDamaged((error as Error).message, this.offset, { cause: error })
  }
}
