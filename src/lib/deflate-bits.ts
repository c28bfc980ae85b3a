/** Reads a deflate stream (RFC 1951) bit by bit, the lowest bit of each byte first. Bits beyond the end are 0. */
export class BitReader {
  readonly bytes: Uint8Array
  /** In bits. */
  position: number

  constructor(bytes: Uint8Array, position: number) {
    this.bytes = bytes
    this.position = position
  }

  /** Returns a number of at most 16 bits. */
  read(bits: number): number {
    const at = this.position >>> 3
    const { bytes } = this
    const three = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16)
    const value = (three >>> (this.position & 7)) & ((1 << bits) - 1)
    this.position += bits
    return value
  }
}

export class BitWriter {
  readonly #bytes: Uint8Array
  #at: number
  #pending = 0
  #pendingBits = 0

  /** `at` is a position in bytes. */
  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes
    this.#at = at
  }

  /** Writes a number of at most 16 bits. */
  write(value: number, bits: number): void {
    this.#pending |= value << this.#pendingBits
    this.#pendingBits += bits
    for (; this.#pendingBits >= 8; this.#pendingBits -= 8) {
      this.#bytes[this.#at++] = this.#pending
      this.#pending >>>= 8
    }
  }

  copy(from: BitReader, end: number): void {
    while (from.position < end) {
      const bits = Math.min(8, end - from.position)
      this.write(from.read(bits), bits)
    }
  }

  /** Takes the missing bits of the last byte from `last`. Returns the position behind it. */
  finish(last: number): number {
    this.#bytes[this.#at] = this.#pending | (last & (0xff << this.#pendingBits))
    return this.#at + 1
  }
}

const MAX_CODE_BITS = 15
const MAX_SYMBOLS = 320

/** A Huffman code of a deflate stream, which follows from the lengths of the codes of all symbols. */
export class HuffmanCode {
  /** How many codes have each length. */
  readonly #counts = new Uint16Array(MAX_CODE_BITS + 1)
  /** In the order of their codes. */
  readonly #symbols = new Uint16Array(MAX_SYMBOLS)

  constructor(lengths: Uint8Array = new Uint8Array(0)) {
    this.set(lengths)
  }

  set(lengths: Uint8Array): void {
    this.#counts.fill(0)
    for (const length of lengths) this.#counts[length]! += 1
    this.#counts[0] = 0
    const next = new Uint16Array(MAX_CODE_BITS + 2)
    for (let length = 1; length <= MAX_CODE_BITS; length++)
      next[length + 1] = next[length]! + this.#counts[length]!
    for (let symbol = 0; symbol < lengths.length; symbol++) {
      const length = lengths[symbol]!
      if (length > 0) this.#symbols[next[length]!++] = symbol
    }
  }

  /** Returns undefined if the next bits are no code. */
  read(bits: BitReader): number | undefined {
    let code = 0
    let first = 0
    let index = 0
    for (let length = 1; length <= MAX_CODE_BITS; length++) {
      code |= bits.read(1)
      const count = this.#counts[length]!
      if (code - first < count) return this.#symbols[index + code - first]
      index += count
      first = (first + count) << 1
      code <<= 1
    }
    return undefined
  }
}
