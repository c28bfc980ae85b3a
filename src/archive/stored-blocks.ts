/** The most bytes that one stored deflate block can hold. */
export const STORED_BLOCK = 65_535

const BLOCK_HEADER = 5

/**
 * Lays bytes out as stored deflate blocks while they come in: what zlib makes at level 0, but each byte is copied once
 * and the buffer is used again and again.
 */
export class StoredBlocks {
  readonly most: number
  length = 0
  readonly #out: Buffer

  constructor(most: number) {
    this.most = most
    this.#out = Buffer.allocUnsafeSlow(most + Math.ceil(most / STORED_BLOCK) * BLOCK_HEADER)
  }

  /** Takes what there is room for, and answers how many bytes that was. */
  add(plain: Uint8Array): number {
    const taken = Math.min(plain.length, this.most - this.length)
    for (let start = 0; start < taken; ) {
      const roomInBlock = STORED_BLOCK - (this.length % STORED_BLOCK)
      const part = plain.subarray(start, Math.min(start + roomInBlock, taken))
      const headers = Math.floor(this.length / STORED_BLOCK) + 1
      this.#out.set(part, this.length + headers * BLOCK_HEADER)
      start += part.length
      this.length += part.length
    }
    return taken
  }

  /** The blocks, good until the next byte is added, which begins anew. */
  finish({ final } = { final: false }): Buffer {
    let at = 0
    for (let rest = this.length; rest > 0; rest -= STORED_BLOCK) {
      const length = Math.min(rest, STORED_BLOCK)
      this.#out[at] = final && length === rest ? 1 : 0
      this.#out.writeUInt16LE(length, at + 1)
      this.#out.writeUInt16LE(length ^ 0xffff, at + 3)
      at += BLOCK_HEADER + length
    }
    this.length = 0
    return this.#out.subarray(0, at)
  }
}

export function storedBlocks(plain: Uint8Array, { final }: { final: boolean }): Buffer {
  const blocks = new StoredBlocks(plain.length)
  blocks.add(plain)
  return blocks.finish({ final })
}
