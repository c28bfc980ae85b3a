import { checksumOf, FIELDS, type Field, TAR_BLOCK } from './tar-header.ts'
import { ArchiveNotSupported } from './unreadable-archive.ts'

export interface TarHeader {
  /** The type flag. */
  type: string
  /** The raw bytes of prefix and name. Truncated if a long-name record replaces them. */
  name: Buffer
  size: number
  /** Epoch milliseconds. */
  modifiedAt: number
}

/** Throws an Error if the block is malformed, and ArchiveNotSupported for an unknown dialect. */
export function parseTarHeader(block: Buffer): TarHeader {
  if (!isTarHeader(block)) throw new Error('the checksum of a tar header is wrong')
  const size = readNumber(block, FIELDS.size)
  if (size < 0) throw new Error('a size in a tar header is negative')
  return {
    type: block.toString('latin1', FIELDS.type[0], FIELDS.type[0] + 1),
    name: nameOf(block),
    size,
    modifiedAt: Math.max(0, readNumber(block, FIELDS.modified)) * 1000,
  }
}

/** Whether the checksum in the block is correct. A block of zeros is not a header. */
export function isTarHeader(block: Buffer): boolean {
  if (block.length < TAR_BLOCK) return false
  const [start, length] = FIELDS.checksum
  const stored = octal(block.subarray(start, start + length))
  // Some old programs added up signed bytes.
  return stored !== undefined && [checksumOf(block), signedChecksumOf(block)].includes(stored)
}

function signedChecksumOf(block: Buffer): number {
  const [start, length] = FIELDS.checksum
  const outside = [...block.subarray(0, start), ...block.subarray(start + length, TAR_BLOCK)]
  const negative = outside.filter((byte) => byte > 0x7f).length
  return checksumOf(block) - negative * 0x100
}

/** Only POSIX headers have a prefix. GNU stores times and sparse maps there, and the oldest tars nothing. */
function nameOf(block: Buffer): Buffer {
  const [start, length] = FIELDS.magic
  const magic = block.toString('latin1', start, start + length)
  const name = upToNul(block, FIELDS.name)
  if (magic.startsWith('ustar\0')) {
    const prefix = upToNul(block, FIELDS.prefix)
    return prefix.length > 0 ? Buffer.concat([prefix, Buffer.from('/'), name]) : name
  }
  if (magic === 'ustar  \0' || magic === '\0'.repeat(length)) return name
  throw new ArchiveNotSupported(`it is a tar of an unknown format (magic ${JSON.stringify(magic)})`)
}

function upToNul(block: Buffer, [offset, length]: Field): Buffer {
  const field = block.subarray(offset, offset + length)
  const end = field.indexOf(0)
  return end === -1 ? field : field.subarray(0, end)
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function textUpToNul(bytes: Uint8Array): string {
  const end = bytes.indexOf(0)
  try {
    return utf8.decode(end === -1 ? bytes : bytes.subarray(0, end))
  } catch {
    throw new ArchiveNotSupported('a path in it is not UTF-8')
  }
}

/** Reads octal digits, or GNU's base-256 if the first bit is set. An empty field is 0. */
function readNumber(block: Buffer, [offset, length]: Field): number {
  const field = block.subarray(offset, offset + length)
  const value = field[0]! & 0x80 ? base256(field) : octal(field)
  if (value === undefined) throw new Error('a number in a tar header is malformed')
  if (!Number.isSafeInteger(value)) throw new Error('a number in a tar header is too large')
  return value
}

function octal(field: Buffer): number | undefined {
  const [digits = ''] = field.toString('latin1').trimStart().split('\0', 1)
  const trimmed = digits.trim()
  if (trimmed === '') return 0
  return /^[0-7]+$/.test(trimmed) ? Number.parseInt(trimmed, 8) : undefined
}

/** Two's complement without the first bit, which marks the encoding. */
function base256(field: Buffer): number {
  const bits = BigInt(field.length * 8 - 1)
  const value = BigInt.asUintN(Number(bits), BigInt(`0x${field.toString('hex')}`))
  return Number(BigInt.asIntN(Number(bits), value))
}

/** The pax records that are used. Others are ignored. */
export interface PaxFacts {
  path?: string
  size?: number
  /** Epoch milliseconds. */
  modifiedAt?: number
}

const SPACE = 0x20
const EQUALS = 0x3d
const NEWLINE = 0x0a

/** Throws an Error if the records are malformed, and ArchiveNotSupported for a sparse file. */
export function parsePax(content: Buffer): PaxFacts {
  const facts: PaxFacts = {}
  for (const [key, value] of paxRecords(content)) {
    if (key.startsWith('GNU.sparse.') || key === 'SCHILY.realsize')
      throw new ArchiveNotSupported('it holds a sparse file')
    // An empty value deletes an earlier one.
    if (key === 'path') assign(facts, 'path', value.length > 0 ? textUpToNul(value) : undefined)
    else if (key === 'size') assign(facts, 'size', sizeOf(value))
    else if (key === 'mtime') assign(facts, 'modifiedAt', timeOf(value))
  }
  return facts
}

function assign<K extends keyof PaxFacts>(facts: PaxFacts, key: K, value: PaxFacts[K]): void {
  if (value === undefined) delete facts[key]
  else facts[key] = value
}

/** Each record is `LENGTH KEY=VALUE\n`. LENGTH includes itself and the newline. */
function* paxRecords(content: Buffer): Generator<[key: string, value: Buffer]> {
  for (let start = 0; start < content.length; ) {
    // Some programs pad the header with zeros.
    if (content.subarray(start).every((byte) => byte === 0)) return
    const space = content.indexOf(SPACE, start)
    const digits = content.toString('latin1', start, space === -1 ? start : space)
    const end = start + Number(digits)
    const equals = content.indexOf(EQUALS, space)
    const isWhole =
      /^\d{1,9}$/.test(digits) &&
      end <= content.length &&
      equals !== -1 &&
      equals < end &&
      content[end - 1] === NEWLINE
    if (!isWhole) throw new Error('a pax header is malformed')
    yield [content.toString('utf8', space + 1, equals), content.subarray(equals + 1, end - 1)]
    start = end
  }
}

function sizeOf(value: Buffer): number | undefined {
  if (value.length === 0) return undefined
  const digits = value.toString('latin1')
  const size = Number(digits)
  if (!/^\d+$/.test(digits)) throw new Error('a size in a pax header is malformed')
  if (!Number.isSafeInteger(size)) throw new Error('a size in a pax header is too large')
  return size
}

/** Drops the fraction of the seconds, as a tar without pax does. */
function timeOf(value: Buffer): number | undefined {
  if (value.length === 0) return undefined
  const seconds = Number(value.toString('latin1'))
  if (!Number.isFinite(seconds)) throw new Error('a time in a pax header is malformed')
  return Math.max(0, Math.floor(seconds)) * 1000
}
