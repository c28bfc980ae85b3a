/** The most bytes that one stored deflate block can hold. */
export const STORED_BLOCK = 65_535

const BLOCK_HEADER = 5

/** Bytes as stored deflate blocks: what zlib makes at level 0, without its copying. */
export function storedBlocks(plain: Uint8Array, { final }: { final: boolean }): Buffer {
  const blocks = Math.ceil(plain.length / STORED_BLOCK)
  const out = Buffer.allocUnsafeSlow(plain.length + blocks * BLOCK_HEADER)
  let at = 0
  for (let start = 0; start < plain.length; start += STORED_BLOCK) {
    const end = Math.min(start + STORED_BLOCK, plain.length)
    const length = end - start
    out[at] = final && end === plain.length ? 1 : 0
    out.writeUInt16LE(length, at + 1)
    out.writeUInt16LE(length ^ 0xffff, at + 3)
    out.set(plain.subarray(start, end), at + BLOCK_HEADER)
    at += BLOCK_HEADER + length
  }
  return out
}
