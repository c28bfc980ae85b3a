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
export const FIELDS = {
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
export type Field = readonly [offset: number, length: number]

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
export function checksumOf(block: Buffer): number {
  let sum = FIELDS.checksum[1] * 0x20
  for (let at = 0; at < TAR_BLOCK; at += 1) {
    if (at < FIELDS.checksum[0] || at >= FIELDS.checksum[0] + FIELDS.checksum[1]) sum += block[at]!
  }
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
