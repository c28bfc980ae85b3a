import { ArchiveNotSupported } from './unreadable-archive.ts'

export const TAR_BLOCK = 512

export interface TarEntry {
  /** Without a trailing slash, also for directories. */
  path: string
  kind: 'directory' | 'file'
  size: number
  /** Epoch milliseconds. A tar stores whole seconds. */
  modifiedAt: number
}

/** The offset and length of each header field. */
const FIELDS = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  modified: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  magic: [257, 8],
  prefix: [345, 155],
} as const
type Field = readonly [offset: number, length: number]

const FILE = '0'
const DIRECTORY = '5'
const LONG_NAME = 'L'
const USTAR = 'ustar\x0000'
const SLASH = 0x2f

/** Returns the header block of an entry, after a long-name record if the path does not fit otherwise. */
export function tarHeader({ path, kind, size, modifiedAt }: TarEntry): Buffer {
  const bad = unsafePath(path)
  if (bad) throw new Error(`the path ${JSON.stringify(path)} ${bad}`)
  if (!Number.isSafeInteger(size) || size < 0)
    throw new Error(`${path} has an invalid size: ${size}`)
  if (!Number.isFinite(modifiedAt)) throw new Error(`${path} has an invalid time: ${modifiedAt}`)
  const directory = kind === 'directory'
  const fields = {
    mode: directory ? 0o755 : 0o644,
    size,
    modified: Math.max(0, Math.floor(modifiedAt / 1000)),
    type: directory ? DIRECTORY : FILE,
  }
  const name = Buffer.from(directory ? `${path}/` : path)
  if (name.length <= FIELDS.name[1]) return header({ ...fields, name })
  // Splits at the leftmost slash that leaves a short enough name, but not at a trailing slash.
  const cut = name.indexOf(SLASH, Math.max(1, name.length - FIELDS.name[1] - 1))
  if (cut !== -1 && cut <= FIELDS.prefix[1] && cut < name.length - 1) {
    return header({ ...fields, prefix: name.subarray(0, cut), name: name.subarray(cut + 1) })
  }
  const record = Buffer.concat([name, Buffer.alloc(1)])
  return Buffer.concat([
    header({
      name: Buffer.from('././@LongLink'),
      mode: 0o644,
      size: record.length,
      modified: 0,
      type: LONG_NAME,
    }),
    record,
    tarPadding(record.length),
    header({ ...fields, name: name.subarray(0, FIELDS.name[1]) }),
  ])
}

/** Returns the zeros that fill the last block of a content of this size. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((TAR_BLOCK - (size % TAR_BLOCK)) % TAR_BLOCK)
}

interface Fields {
  prefix?: Buffer
  name: Buffer
  mode: number
  size: number
  modified: number
  type: string
}

function header({ prefix, name, mode, size, modified, type }: Fields): Buffer {
  const block = Buffer.alloc(TAR_BLOCK)
  name.copy(block, FIELDS.name[0])
  prefix?.copy(block, FIELDS.prefix[0])
  writeNumber(block, FIELDS.mode, mode)
  writeNumber(block, FIELDS.uid, 0)
  writeNumber(block, FIELDS.gid, 0)
  writeNumber(block, FIELDS.size, size)
  writeNumber(block, FIELDS.modified, modified)
  block.write(type, FIELDS.type[0])
  block.write(USTAR, FIELDS.magic[0], 'latin1')
  block.write(`${octal(checksumOf(block), FIELDS.checksum[1] - 2)}\0 `, FIELDS.checksum[0])
  return block
}

function writeNumber(block: Buffer, [offset, length]: Field, value: number): void {
  const digits = octal(value, length - 1)
  if (digits.length < length) {
    block.write(`${digits}\0`, offset)
    return
  }
  block[offset] = 0x80
  block.writeBigUInt64BE(BigInt(value), offset + length - 8)
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0')

/** Returns the sum of all bytes. The bytes of the checksum itself count as spaces. */
function checksumOf(block: Uint8Array | Int8Array): number {
  const [start, length] = FIELDS.checksum
  let sum = length * 0x20
  for (let at = 0; at < TAR_BLOCK; at += 1)
    if (at < start || at >= start + length) sum += block[at]!
  return sum
}

export const MAX_PATH_BYTES = 4096

/** A path of ASCII that has no empty part, no `.` and no `..`. Most paths are such, and one match is faster than the checks. */
const PLAIN_PATH = /^(?:(?!\.{0,2}(?:\/|$))[ -.0-~]+(?:\/(?!$)|$))+$/

/** Returns why a path must not be written to or read from an archive, or undefined if it is safe. */
export function unsafePath(path: string): string | undefined {
  if (path.length <= MAX_PATH_BYTES && PLAIN_PATH.test(path)) return undefined
  if (path.startsWith('/')) return 'is not relative'
  if (path.includes('\0')) return 'contains NUL'
  if (!path.isWellFormed()) return 'is not well-formed Unicode'
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `is longer than ${MAX_PATH_BYTES} bytes`
  const bad = path.split('/').find((part) => part === '' || part === '.' || part === '..')
  return bad === undefined ? undefined : `has a part that is ${bad === '' ? 'empty' : `"${bad}"`}`
}

/** Normalizes a path of another program: `./a//b/` becomes `a/b`, and `./` becomes '', the root. */
export function plainPath(name: string): { path: string; isFolder: boolean } {
  const isFolder = /(?:^|\/)\.?$/.test(name)
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  const path = parts.join('/')
  return { path: name.startsWith('/') ? `/${path}` : path, isFolder }
}

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
    type: fieldOf(block, FIELDS.type).toString('latin1'),
    name: nameOf(block),
    size,
    modifiedAt: Math.max(0, readNumber(block, FIELDS.modified)) * 1000,
  }
}

/** Whether the checksum in the block is correct. A block of zeros is not a header. */
export function isTarHeader(block: Buffer): boolean {
  if (block.length < TAR_BLOCK) return false
  const stored = parseOctal(fieldOf(block, FIELDS.checksum))
  // Some old programs added up signed bytes.
  return stored === checksumOf(block) || stored === checksumOf(Int8Array.from(block))
}

const fieldOf = (block: Buffer, [offset, length]: Field): Buffer =>
  block.subarray(offset, offset + length)

/** Only POSIX headers have a prefix. GNU stores times and sparse maps there, and the oldest tars nothing. */
function nameOf(block: Buffer): Buffer {
  const magic = fieldOf(block, FIELDS.magic).toString('latin1')
  const name = upToNul(fieldOf(block, FIELDS.name))
  if (magic.startsWith('ustar\0')) {
    const prefix = upToNul(fieldOf(block, FIELDS.prefix))
    return prefix.length > 0 ? Buffer.concat([prefix, Buffer.from('/'), name]) : name
  }
  if (magic === 'ustar  \0' || magic === '\0'.repeat(magic.length)) return name
  throw new ArchiveNotSupported(`it is a tar of an unknown format (magic ${JSON.stringify(magic)})`)
}

function upToNul(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0)
  return end === -1 ? bytes : bytes.subarray(0, end)
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function textUpToNul(bytes: Buffer): string {
  try {
    return utf8.decode(upToNul(bytes))
  } catch {
    throw new ArchiveNotSupported('a path in it is not UTF-8')
  }
}

/** Reads octal digits, or GNU's base-256 if the first bit is set. An empty field is 0. */
function readNumber(block: Buffer, at: Field): number {
  const field = fieldOf(block, at)
  const value = field[0]! & 0x80 ? base256(field) : parseOctal(field)
  if (value === undefined) throw new Error('a number in a tar header is malformed')
  if (!Number.isSafeInteger(value)) throw new Error('a number in a tar header is too large')
  return value
}

function parseOctal(field: Buffer): number | undefined {
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
export interface PaxAttributes {
  path?: string
  size?: number
  /** Epoch milliseconds. */
  modifiedAt?: number
}

const SPACE = 0x20
const EQUALS = 0x3d
const NEWLINE = 0x0a

/** Throws an Error if the records are malformed, and ArchiveNotSupported for a sparse file. */
export function parsePax(content: Buffer): PaxAttributes {
  const attributes: PaxAttributes = {}
  for (const [key, value] of paxRecords(content)) {
    if (key.startsWith('GNU.sparse.') || key === 'SCHILY.realsize')
      throw new ArchiveNotSupported('it holds a sparse file')
    // An empty value deletes an earlier one.
    if (key === 'path')
      assign(attributes, 'path', value.length > 0 ? textUpToNul(value) : undefined)
    else if (key === 'size') assign(attributes, 'size', sizeOf(value))
    else if (key === 'mtime') assign(attributes, 'modifiedAt', timeOf(value))
  }
  return attributes
}

function assign<K extends keyof PaxAttributes>(
  attributes: PaxAttributes,
  key: K,
  value: PaxAttributes[K],
): void {
  if (value === undefined) delete attributes[key]
  else attributes[key] = value
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
  if (!Number.isSafeInteger(Math.floor(seconds)))
    throw new Error('a time in a pax header is malformed')
  return Math.max(0, Math.floor(seconds)) * 1000
}
