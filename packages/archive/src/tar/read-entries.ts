import { Readable } from 'node:stream'
import type { Bytes } from '@godwit/lib/bytes'
import { ByteReader, gunzip, isGzip } from './gunzip.ts'
import {
  isTarHeader,
  MAX_PATH_BYTES,
  type PaxAttributes,
  parsePax,
  parseTarHeader,
  plainPath,
  TAR_BLOCK,
  type TarEntry,
  type TarHeader,
  tarPadding,
  textUpToNul,
  unsafePath,
} from './tar-header.ts'
import { ArchiveDamaged, ArchiveNotSupported, ArchiveRefused } from './unreadable-archive.ts'

export interface ArchiveEntry extends TarEntry {
  /** Must be read before the next entry is requested: that skips unread content. Empty for a directory. */
  content: AsyncIterable<Uint8Array>
}

/**
 * Reads the entries of an archive: a tar of any dialect, plain or gzipped. The CRC is checked only after the last entry. Throws
 * ArchiveDamaged, ArchiveNotSupported, ArchiveRefused, and errors of the stream unchanged.
 */
export async function* readEntries(
  archive: Bytes,
  { signal }: { signal?: AbortSignal | undefined } = {},
): AsyncGenerator<ArchiveEntry> {
  const tar = await openTar(archive, signal)
  try {
    for await (const entry of headersOf(tar)) {
      const content = contentOf(tar, entry)
      yield { ...entry, content: content.bytes() }
      await content.skipRest()
      await exactly(tar, tarPadding(entry.size).length)
    }
    await assertOnlyZerosLeft(tar)
  } finally {
    await tar.close()
  }
}

/** Other file types by their first bytes. */
const OTHER_TYPES: [begins: Buffer, name: string][] = [
  [Buffer.from('PK\x03\x04'), 'a zip file'],
  [Buffer.from('PK\x05\x06'), 'an empty zip file'],
  [Buffer.from('\xfd7zXZ\0', 'latin1'), 'compressed with xz'],
  [Buffer.from('28b52ffd', 'hex'), 'compressed with zstd'],
  [Buffer.from('BZh'), 'compressed with bzip2'],
  [Buffer.from('04224d18', 'hex'), 'compressed with lz4'],
  [Buffer.from('\x1f\x9d', 'latin1'), 'compressed with compress'],
  [Buffer.from("7z\xbc\xaf'\x1c", 'latin1'), 'a 7z file'],
  [Buffer.from('Rar!'), 'a RAR file'],
  [Buffer.from('# v2 git bundle'), 'a git bundle'],
  [Buffer.from('# v3 git bundle'), 'a git bundle'],
  [Buffer.from('<'), 'a web page or XML'],
  [Buffer.from('{'), 'JSON, perhaps the response of a server'],
]

/** Opens a tar, plain or gzipped. Rejects with ArchiveNotSupported or ArchiveDamaged. */
async function openTar(archive: Bytes, signal: AbortSignal | undefined): Promise<ByteReader> {
  const stream = Readable.from(archive, { highWaterMark: 1, ...(signal && { signal }) })
  const bytes = new ByteReader(stream)
  try {
    const start = await bytes.peek(TAR_BLOCK)
    if (isGzip(start)) return new ByteReader(gunzip(bytes))
    if (isTarHeader(start)) return bytes
    throw errorForType(start)
  } catch (error) {
    await bytes.close()
    throw error
  }
}

function errorForType(start: Buffer): Error {
  const [, name] =
    OTHER_TYPES.find(([begins]) => start.subarray(0, begins.length).equals(begins)) ?? []
  if (name)
    return new ArchiveNotSupported(`it is ${name}; only a tar, plain or gzipped, can be read`)
  if (start.length === 0) return new ArchiveDamaged('the file is empty')
  if (start.length < TAR_BLOCK) return new ArchiveDamaged('it ends too early')
  return new ArchiveDamaged('it is not an archive: neither gzip nor tar')
}

async function exactly(tar: ByteReader, length: number): Promise<Buffer> {
  const bytes = await tar.take(length)
  if (bytes.length < length) throw new ArchiveDamaged('it ends too early', tar.offset)
  return bytes
}

/** Returns the bytes that are available, at most `max`. */
async function some(tar: ByteReader, max: number): Promise<Buffer> {
  const bytes = await tar.some(max)
  if (bytes.length === 0) throw new ArchiveDamaged('it ends too early', tar.offset)
  return bytes
}

/** Reads the whole content into memory. */
export async function textOf({ content }: Pick<ArchiveEntry, 'content'>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(content)).toString('utf8')
}

/** The content of an entry. It can be read until the next entry is requested. */
function contentOf(tar: ByteReader, { path, size }: TarEntry) {
  let left = size
  let isSkipped = false

  async function* bytes(): AsyncGenerator<Uint8Array> {
    while (left > 0 || isSkipped) {
      if (isSkipped)
        throw new Error(`the content of ${path} was read after the next entry was requested`)
      const chunk = await some(tar, left)
      left -= chunk.length
      yield chunk
    }
  }

  async function skipRest(): Promise<void> {
    isSkipped = left > 0
    while (left > 0) left -= (await some(tar, left)).length
  }

  return { bytes, skipRest }
}

/** Tars are padded to whole records, usually of 10 KiB. */
const MAX_PADDING_BYTES = 16 * 1024 * 1024

/** Throws unless only zeros follow. */
async function assertOnlyZerosLeft(tar: ByteReader): Promise<void> {
  const end = tar.offset
  for (
    let rest = await exactly(tar, TAR_BLOCK);
    rest.length > 0;
    rest = await tar.take(TAR_BLOCK)
  ) {
    const offset = tar.offset - rest.length
    if (offset > end && isTarHeader(rest))
      throw new ArchiveNotSupported('it is several tars, one after another')
    if (!isZero(rest)) throw new ArchiveDamaged('unexpected data after the end of the tar', offset)
    if (tar.offset - end > MAX_PADDING_BYTES)
      throw new ArchiveDamaged('too much padding after the end of the tar', tar.offset)
  }
}

/** Extra headers before an entry are read into memory. Those with extended attributes are the largest. */
const MAX_PAX_BYTES = 1024 * 1024
const MAX_NAME_BYTES = MAX_PATH_BYTES + 2
/** An entry has at most a long path, a link target and a pax header. The limit stops tars that consist of headers only. */
const MAX_EXTRA_HEADERS = 16

const NOT_SUPPORTED: Readonly<Record<string, string>> = {
  '1': 'a hard link',
  '2': 'a symbolic link',
  '3': 'a character device',
  '4': 'a block device',
  '6': 'a named pipe',
  D: 'the listing of a directory (it is an incremental tar)',
  M: 'the rest of a file (it is a tar of several volumes)',
  N: 'long names in an obsolete format',
  S: 'a sparse file',
}
const FILES = ['0', '\0', '7']
const DIRECTORY = '5'

/** What the headers before an entry say about it. */
type EntryAttributes = PaxAttributes & { longName?: string }

/** Yields the entries of a tar, in any dialect, up to the block of zeros that marks its end. The caller reads their content meanwhile. */
async function* headersOf(tar: ByteReader): AsyncGenerator<TarEntry> {
  let globalAttributes: PaxAttributes = {}
  let attributes: EntryAttributes = {}
  let extraHeaders = 0
  let hasRoot = false
  for (;;) {
    const { offset } = tar
    const block = await exactly(tar, TAR_BLOCK)
    if (isZero(block)) {
      if (extraHeaders > 0) throw new ArchiveDamaged('the last header has no entry', offset)
      return
    }
    const header = orDamaged(offset, () => parseTarHeader(block))
    const found = await readExtraHeader(tar, header)
    if (found) {
      if (extraHeaders++ === MAX_EXTRA_HEADERS)
        throw new ArchiveRefused(`an entry has more than ${MAX_EXTRA_HEADERS} extra headers`)
      if (header.type !== 'g') Object.assign(attributes, found)
      else if (found.path !== undefined || found.size !== undefined)
        throw new ArchiveNotSupported('a global pax header sets the path or size of all entries')
      else globalAttributes = { ...globalAttributes, ...found }
      continue
    }
    const known = { ...globalAttributes, ...attributes }
    const entry = orDamaged(offset, () => entryOf(header, known))
    if (entry.path !== '') yield entry
    else if (hasRoot) throw new ArchiveRefused('its root directory occurs twice')
    else hasRoot = true
    attributes = {}
    extraHeaders = 0
  }
}

/** Reads a header that describes the following entries. Returns undefined for the header of an entry. */
async function readExtraHeader(
  tar: ByteReader,
  { type, size }: TarHeader,
): Promise<EntryAttributes | undefined> {
  const { offset } = tar
  const read = async (what: string, max: number) => {
    if (size > max) throw new ArchiveRefused(`${what} has ${size} bytes, more than ${max}`)
    return (await exactly(tar, size + tarPadding(size).length)).subarray(0, size)
  }
  switch (type) {
    case 'L': {
      const name = await read('a long name', MAX_NAME_BYTES)
      return { longName: orDamaged(offset, () => textUpToNul(name)) }
    }
    case 'K': // The target of a link. The link itself is refused.
      await read('a long link target', MAX_NAME_BYTES)
      return {}
    case 'V': // The label of the volume.
      await read('a label', MAX_NAME_BYTES)
      return {}
    case 'x':
    case 'X':
    case 'g': {
      const content = await read('a pax header', MAX_PAX_BYTES)
      return orDamaged(offset, () => parsePax(content))
    }
    default:
      return undefined
  }
}

function entryOf(header: TarHeader, attributes: EntryAttributes): TarEntry {
  const { type } = header
  const name = attributes.path ?? attributes.longName ?? textUpToNul(header.name)
  const size = attributes.size ?? header.size
  if (type !== DIRECTORY && !FILES.includes(type)) {
    const what = NOT_SUPPORTED[type] ?? `an entry of the unknown type ${JSON.stringify(type)}`
    throw new ArchiveNotSupported(`it holds ${what}: ${JSON.stringify(name)}`)
  }
  const { path, isFolder } = plainPath(name)
  const bad = path === '' ? undefined : unsafePath(path)
  if (bad) throw new ArchiveRefused(`the path ${JSON.stringify(name)} ${bad}`)
  // In the oldest tars, only a trailing slash marks a directory.
  const kind = type === DIRECTORY || isFolder ? 'directory' : 'file'
  if (kind === 'directory' && size > 0)
    throw new ArchiveNotSupported(`it holds a directory with content: ${JSON.stringify(name)}`)
  return { path, kind, size, modifiedAt: attributes.modifiedAt ?? header.modifiedAt }
}

function orDamaged<T>(offset: number, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    if (error instanceof ArchiveNotSupported || error instanceof ArchiveRefused) throw error
    throw new ArchiveDamaged((error as Error).message, offset, { cause: error })
  }
}

const isZero = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0)
