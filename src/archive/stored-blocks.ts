/** The most bytes that one stored deflate block can hold. */
export const STORED_BLOCK = 65_535

const BLOCK_HEADER = 5

/** Lays bytes out as stored deflate blocks while they come in: what zlib makes at level 0, with each byte copied once. */
export class StoredBlocks {
  readonly max: number
  length = 0
  #out: Buffer | undefined

  constructor(max: number) {
    this.max = max
  }

  /** Takes what there is room for, and answers how many bytes that was. */
  add(plain: Uint8Array): number {
    this.#out ??= Buffer.allocUnsafeSlow(storedLength(this.max))
    const taken = Math.min(plain.length, this.max - this.length)
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
    const out = this.#out ?? Buffer.alloc(0)
    let at = 0
    for (let rest = this.length; rest > 0; rest -= STORED_BLOCK) {
      const length = Math.min(rest, STORED_BLOCK)
      out[at] = final && length === rest ? 1 : 0
      out.writeUInt16LE(length, at + 1)
      out.writeUInt16LE(length ^ 0xffff, at + 3)
      at += BLOCK_HEADER + length
    }
    this.length = 0
    return out.subarray(0, at)
  }
}

const storedLength = (plain: number): number =>
  plain + Math.ceil(plain / STORED_BLOCK) * BLOCK_HEADER

export function storedBlocks(plain: Uint8Array, { final }: { final: boolean }): Buffer {
  const blocks = new StoredBlocks(plain.length)
  blocks.add(plain)
  return blocks.finish({ final })
}
