import { LONGEST_PATH, unsafePath } from './entry-path.ts'

export const TAR_BLOCK = 512

export interface TarEntry {
  /** Without a slash at the end, also for a directory. */
  path: string
  kind: 'directory' | 'file'
  size: number
  /** Epoch milliseconds; a tar holds whole seconds. */
  modifiedAt: number
}

/** A field of the header: where it begins and how many bytes it has. */
const NAME = [0, 100] as const
const MODE = [100, 8] as const
const UID = [108, 8] as const
const GID = [116, 8] as const
const SIZE = [124, 12] as const
const MODIFIED = [136, 12] as const
const CHECKSUM = [148, 8] as const
const TYPE = [156, 1] as const
const MAGIC = [257, 8] as const
const PREFIX = [345, 155] as const
type Field = readonly [offset: number, length: number]

const FILE = '0'
const DIRECTORY = '5'
const LONG_NAME = 'L'
const USTAR = 'ustar\x0000'
const SLASH = 0x2f

/** The header block of an entry, preceded by a long-name record where its path fits no other way. */
export function tarHeader({ path, kind, size, modifiedAt }: TarEntry): Buffer {
  const bad = unsafePath(path)
  if (bad) throw new Error(`the path ${JSON.stringify(path)} ${bad}`)
  if (!Number.isSafeInteger(size) || size < 0) throw new Error(`${path} has no valid size: ${size}`)
  if (!Number.isFinite(modifiedAt)) throw new Error(`${path} has no valid time: ${modifiedAt}`)
  const directory = kind === 'directory'
  const fields = {
    mode: directory ? 0o755 : 0o644,
    size,
    modified: Math.max(0, Math.floor(modifiedAt / 1000)),
    type: directory ? DIRECTORY : FILE,
  }
  const name = Buffer.from(directory ? `${path}/` : path)
  if (name.length <= NAME[1]) return header({ ...fields, name })
  // The leftmost slash that leaves a name short enough; one at the very end parts nothing.
  const cut = name.indexOf(SLASH, Math.max(1, name.length - NAME[1] - 1))
  if (cut !== -1 && cut <= PREFIX[1] && cut < name.length - 1) {
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
    header({ ...fields, name: name.subarray(0, NAME[1]) }),
  ])
}

/** The zeros that fill up the last block of a content of that size. */
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
  name.copy(block, NAME[0])
  prefix?.copy(block, PREFIX[0])
  writeNumber(block, MODE, mode)
  writeNumber(block, UID, 0)
  writeNumber(block, GID, 0)
  writeNumber(block, SIZE, size)
  writeNumber(block, MODIFIED, modified)
  block.write(type, TYPE[0])
  block.write(USTAR, MAGIC[0], 'latin1')
  block.write(`${octal(checksumOf(block), CHECKSUM[1] - 2)}\0 `, CHECKSUM[0])
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

/** The sum of all bytes, where those of the checksum itself count as spaces. */
function checksumOf(block: Buffer): number {
  let sum = CHECKSUM[1] * 0x20
  for (let at = 0; at < TAR_BLOCK; at += 1) {
    if (at < CHECKSUM[0] || at >= CHECKSUM[0] + CHECKSUM[1]) sum += block[at]!
  }
  return sum
}

/** How long the path is that this block announces for the next entry; undefined when it is an entry itself. */
export function longNameSize(block: Buffer): number | undefined {
  if (typeOf(block) !== LONG_NAME) return undefined
  const size = readNumber(block, SIZE)
  if (size > LONGEST_PATH + 2) throw new Error(`a long name has ${size} bytes`)
  return size
}

/** The contrary of `tarHeader` for one block. What is wrong with it is thrown as an Error. */
export function parseTarHeader(block: Buffer, longName?: string): TarEntry {
  const type = typeOf(block)
  if (type !== FILE && type !== DIRECTORY) {
    throw new Error(`an entry has the unknown type ${JSON.stringify(type)}`)
  }
  const name =
    longName ?? [readText(block, PREFIX), readText(block, NAME)].filter(Boolean).join('/')
  const directory = type === DIRECTORY
  const path = directory && name.endsWith('/') ? name.slice(0, -1) : name
  const bad = unsafePath(path)
  if (bad) throw new Error(`the path ${JSON.stringify(path)} ${bad}`)
  const size = readNumber(block, SIZE)
  if (directory && size > 0) throw new Error(`the directory ${path} has content`)
  const modifiedAt = readNumber(block, MODIFIED) * 1000
  return { path, kind: directory ? 'directory' : 'file', size, modifiedAt }
}

function typeOf(block: Buffer): string {
  if (readNumber(block, CHECKSUM) !== checksumOf(block)) {
    throw new Error('the checksum of a tar header is wrong')
  }
  if (block.toString('latin1', MAGIC[0], MAGIC[0] + MAGIC[1]) !== USTAR) {
    throw new Error('a tar header is not ustar')
  }
  return block.toString('latin1', TYPE[0], TYPE[0] + 1)
}

function readText(block: Buffer, [offset, length]: Field): string {
  return textUpToNul(block.subarray(offset, offset + length))
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function textUpToNul(bytes: Uint8Array): string {
  const end = bytes.indexOf(0)
  try {
    return utf8.decode(end === -1 ? bytes : bytes.subarray(0, end))
  } catch (error) {
    throw new Error('a path is not UTF-8', { cause: error })
  }
}

function readNumber(block: Buffer, [offset, length]: Field): number {
  if (block[offset] === 0x80) {
    const value = Number(block.readBigUInt64BE(offset + length - 8))
    if (!Number.isSafeInteger(value)) throw new Error('a number in a tar header is too large')
    return value
  }
  const digits = block
    .toString('latin1', offset, offset + length)
    .split('\0', 1)[0]!
    .trimEnd()
  if (!/^[0-7]+$/.test(digits)) throw new Error('a number in a tar header is malformed')
  return Number.parseInt(digits, 8)
}
