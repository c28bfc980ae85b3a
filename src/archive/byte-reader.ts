/** Bytes that come in chunks, taken by the length. */
export class ByteReader {
  /** How many were taken. */
  offset = 0
  readonly #chunks: AsyncIterator<Uint8Array>
  #ahead: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** What is at hand, at most that many bytes; none only at the end. */
  async upTo(max: number): Promise<Buffer> {
    while (this.#ahead.length === 0) {
      const next = await this.#next()
      if (!next) break
      this.#ahead = next
    }
    const bytes = this.#ahead.subarray(0, max)
    this.#ahead = this.#ahead.subarray(bytes.length)
    this.offset += bytes.length
    return bytes
  }

  /** As many bytes as asked for; fewer only where the end comes first. */
  async take(length: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for (let left = length; left > 0; left -= parts.at(-1)!.length) {
      const some = await this.upTo(left)
      if (some.length === 0) break
      parts.push(some)
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }

  /** The same, and they are still to be taken. */
  async peek(length: number): Promise<Buffer> {
    const bytes = await this.take(length)
    this.putBack(bytes)
    return bytes
  }

  /** The last of the bytes that were taken. */
  putBack(bytes: Buffer): void {
    this.#ahead = this.#ahead.length === 0 ? bytes : Buffer.concat([bytes, this.#ahead])
    this.offset -= bytes.length
  }

  async #next(): Promise<Buffer | undefined> {
    const next = await this.#chunks.next()
    if (next.done) return undefined
    const { buffer, byteOffset, byteLength } = next.value
    return Buffer.from(buffer, byteOffset, byteLength)
  }

  async close(): Promise<void> {
    await this.#chunks.return?.()
  }
}
