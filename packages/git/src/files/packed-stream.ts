/*
 * A loose object is a zlib stream of `TYPE SIZE\0` and the content. A pack has type and size before the stream, which has only the
 * content. The header is at the beginning of the first deflate block (RFC 1951), and later symbols seldom refer to it. So the stream for a
 * pack can be made by removing the symbols of the header, which takes a tenth of the time of deflating the content again.
 *
 * What follows the header must keep its position within a byte, so that it can be copied. For that, up to three empty blocks of ten
 * bits and three bits without a meaning are inserted before it.
 */

/** Reads a deflate stream (RFC 1951) bit by bit, the lowest bit of each byte first. Bits beyond the end are 0. */
class BitReader {
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

class BitWriter {
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
class HuffmanCode {
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

interface PackedStream {
  /** The type and the size of the object, without the NUL. */
  header: string
  /** Valid until the next call. */
  stream: Buffer
}

const HEAD_BYTES = 2
const CHECKSUM_BYTES = 4
const MAX_HEADER_LENGTH = 32
/** More than the inserted blocks and bits take. */
const MAX_INSERTED_BYTES = 8

/** The kinds of a block. */
const STORED = 0
const FIXED = 1
const DYNAMIC = 2
/** A block of the kind `FIXED` that ends at once. */
const EMPTY_BLOCK = { value: 0b010, bits: 10 }

/**
 * Returns the stream for a pack, or undefined if that of the loose object is unusual. The result is invalid if the stream of the
 * loose object is, or if a symbol refers to the header: the caller must inflate it to its end.
 */
export function packedStream(loose: Buffer): PackedStream | undefined {
  const end = loose.length - CHECKSUM_BYTES
  if (end < HEAD_BYTES + MAX_HEADER_LENGTH) return undefined
  if (out.length < loose.length + MAX_INSERTED_BYTES)
    out = Buffer.allocUnsafeSlow(loose.length + MAX_INSERTED_BYTES)
  const cut = cutHeader(loose)
  const size = Number(cut?.header.split(' ')[1])
  if (!cut || cut.restAt > end || !Number.isSafeInteger(size)) return undefined
  loose.copy(out, 0, 0, HEAD_BYTES)
  const length = cut.length + loose.copy(out, cut.length, cut.restAt, end)
  out.writeUInt32BE(checksumWithout(cut.header, size, loose.readUInt32BE(end)), length)
  return { header: cut.header, stream: out.subarray(0, length + CHECKSUM_BYTES) }
}

let out: Buffer = Buffer.alloc(0)

interface Cut {
  header: string
  /** The length of what is written to `out`. */
  length: number
  /** The position of the bytes that are to be copied after it. */
  restAt: number
}

function cutHeader(loose: Buffer): Cut | undefined {
  const bits = new BitReader(loose, HEAD_BYTES * 8 + 1)
  const kind = bits.read(2)
  if (kind === STORED) return cutStored(loose)
  if (kind === FIXED) return cutCompressed(bits, FIXED_CODE)
  const codes = kind === DYNAMIC ? readCodes(bits) : undefined
  return codes && cutCompressed(bits, codes.literals, codes)
}

/** A stored block has its length, the complement of its length, and its bytes. */
function cutStored(loose: Buffer): Cut | undefined {
  const lengthAt = HEAD_BYTES + 1
  const headerAt = lengthAt + 4
  const restAt = loose.indexOf(0, headerAt) + 1
  const removed = restAt - headerAt
  const length = loose.readUInt16LE(lengthAt) - removed
  if (restAt === 0 || length < 0) return undefined
  out[HEAD_BYTES] = loose[HEAD_BYTES]!
  out.writeUInt16LE(length, lengthAt)
  // Not `~length`: a wrong complement has to stay wrong.
  out.writeUInt16LE((loose.readUInt16LE(lengthAt + 2) + removed) & 0xffff, lengthAt + 2)
  return { header: loose.toString('latin1', headerAt, restAt - 1), length: headerAt, restAt }
}

function cutCompressed(bits: BitReader, code: HuffmanCode, codes?: Codes): Cut | undefined {
  const headerAt = bits.position
  const header = readHeader(bits, code)
  if (header === undefined) return undefined
  const removed = bits.position - headerAt
  const isOdd = removed % 2 === 1
  // The three bits are one more length in the list, which is 0, unless the list is complete already.
  if (isOdd && (!codes || codes.listed === LIST_ORDER.length)) return undefined
  const source = new BitReader(bits.bytes, HEAD_BYTES * 8)
  const writer = new BitWriter(out, HEAD_BYTES)
  for (let inserted = isOdd ? 3 : 0; (removed - inserted) % 8 !== 0; inserted += EMPTY_BLOCK.bits)
    writer.write(EMPTY_BLOCK.value, EMPTY_BLOCK.bits)
  if (isOdd && codes) {
    writer.copy(source, codes.listedAt)
    writer.write(source.read(4) + 1, 4)
    writer.copy(source, codes.listEnd)
    writer.write(0, 3)
  }
  writer.copy(source, headerAt)
  const restAt = (bits.position >>> 3) + 1
  return { header, length: writer.finish(bits.bytes[restAt - 1]!), restAt }
}

/** Returns undefined if a symbol of it is not a byte. */
function readHeader(bits: BitReader, code: HuffmanCode): string | undefined {
  for (let header = ''; header.length <= MAX_HEADER_LENGTH; ) {
    const symbol = code.read(bits)
    if (symbol === 0) return header
    if (symbol === undefined || symbol > 0xff) return undefined
    header += String.fromCharCode(symbol)
  }
  return undefined
}

/** The codes of a block of the kind `DYNAMIC`, and where it lists the lengths of the codes for their lengths, in bits. */
interface Codes {
  literals: HuffmanCode
  listedAt: number
  listed: number
  listEnd: number
}

const LIST_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
const MAX_LENGTHS = 32 + 288
const lengthCode = new HuffmanCode()
const literalCode = new HuffmanCode()
const listedLengths = new Uint8Array(LIST_ORDER.length)
const lengths = new Uint8Array(MAX_LENGTHS)

function readCodes(bits: BitReader): Codes | undefined {
  const literals = bits.read(5) + 257
  const total = literals + bits.read(5) + 1
  const listedAt = bits.position
  const listed = bits.read(4) + 4
  listedLengths.fill(0)
  for (const symbol of LIST_ORDER.slice(0, listed)) listedLengths[symbol] = bits.read(3)
  const listEnd = bits.position
  lengthCode.set(listedLengths)
  for (let at = 0; at < total; ) {
    const symbol = lengthCode.read(bits)
    if (symbol === undefined) return undefined
    let repeats = 1
    if (symbol === 16) repeats = 3 + bits.read(2)
    else if (symbol === 17) repeats = 3 + bits.read(3)
    else if (symbol === 18) repeats = 11 + bits.read(7)
    const length = symbol < 16 ? symbol : symbol === 16 && at > 0 ? lengths[at - 1]! : 0
    lengths.fill(length, at, at + repeats)
    at += repeats
  }
  literalCode.set(lengths.subarray(0, literals))
  return { literals: literalCode, listedAt, listed, listEnd }
}

const FIXED_CODE = new HuffmanCode(
  Uint8Array.from({ length: 288 }, (_, symbol) =>
    symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8,
  ),
)

const ADLER_MODULUS = 65_521

/** Returns the Adler-32 of the content, from that of the header, NUL and content. */
function checksumWithout(header: string, size: number, checksum: number): number {
  let sum = 1
  let sums = 0
  for (let at = 0; at <= header.length; at++) {
    sum += header.charCodeAt(at) || 0
    sums += sum
  }
  // Each byte of the content has added the sum of the header to `sums`.
  const ofContent = (checksum & 0xffff) - (sum - 1)
  const sumsOfContent = (checksum >>> 16) - sums - (size % ADLER_MODULUS) * (sum - 1)
  const modulo = (value: number) => ((value % ADLER_MODULUS) + ADLER_MODULUS) % ADLER_MODULUS
  return modulo(sumsOfContent) * 0x10000 + modulo(ofContent)
}
