import { codeOf } from '../ground/errno.ts'
/** The archive is not what FORMAT.md says. `offset` counts the bytes of the tar inside the gzip. */
export class ArchiveDamaged extends Error {
  override name = 'ArchiveDamaged'
  readonly offset: number

  constructor(what: string, offset: number, options?: ErrorOptions) {
    super(`the archive is damaged at byte ${offset} of its tar: ${what}`, options)
    this.offset = offset
  }
}

/** Reads what comes out of gunzip by the length. */
export class PlainBytes {
  offset = 0
  readonly #chunks: AsyncIterator<Buffer>
  #chunk: Buffer = Buffer.alloc(0)

  constructor(gunzip: AsyncIterable<Buffer>) {
    this.#chunks = gunzip[Symbol.asyncIterator]()
  }

  /** What is at hand, at most that many bytes; none only at the end. */
  async upTo(most: number): Promise<Buffer> {
    while (this.#chunk.length === 0) {
      const next = await this.#chunks.next().catch(this.rethrow)
      if (next.done) break
      this.#chunk = next.value
    }
    const bytes = this.#chunk.subarray(0, most)
    this.#chunk = this.#chunk.subarray(bytes.length)
    this.offset += bytes.length
    return bytes
  }

  /** The same where the end is not to come yet. */
  async some(most: number): Promise<Buffer> {
    const bytes = await this.upTo(most)
    if (bytes.length === 0) throw new ArchiveDamaged('it ends too early', this.offset)
    return bytes
  }

  async exactly(length: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for (let left = length; left > 0; left -= parts.at(-1)!.length)
      parts.push(await this.some(left))
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }

  /** What zlib cannot make sense of is damage; anything else is the stream's own failure. */
  readonly rethrow = (error: unknown): never => {
    const code = codeOf(error) ?? ''
    if (!code.startsWith('Z_') && code !== 'ERR_TRAILING_JUNK_AFTER_STREAM_END') throw error
    throw new ArchiveDamaged((error as Error).message, this.offset, { cause: error })
  }
}
