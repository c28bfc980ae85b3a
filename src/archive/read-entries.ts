import type { Bytes } from '../blobs/blob-store.ts'
import { openTar, type PlainBytes } from './open-tar.ts'
import {
  isTarHeader,
  type PaxFacts,
  parsePax,
  parseTarHeader,
  type TarHeader,
  textUpToNul,
} from './read-tar-header.ts'
import {
  LONGEST_PATH,
  plainPath,
  TAR_BLOCK,
  type TarEntry,
  tarPadding,
  unsafePath,
} from './tar-header.ts'
import { ArchiveDamaged, ArchiveNotSupported, ArchiveRefused } from './unreadable-archive.ts'

export interface ArchiveEntry extends TarEntry {
  /** To be read before the next entry is asked for; what is left of it then is skipped. Empty for a directory. */
  content: AsyncIterable<Uint8Array>
}

/**
 * The entries of an archive, one after another: a tar of any dialect, as it is or in gzip. Until the loop has ended by itself
 * the CRC of the whole is unchecked. Throws ArchiveDamaged, ArchiveNotSupported, ArchiveRefused, and a failure of the
 * stream itself as it is.
 */
export async function* readEntries(
  archive: Bytes,
  { signal }: { signal?: AbortSignal | undefined } = {},
): AsyncGenerator<ArchiveEntry> {
  const tar = await openTar(archive, signal)
  const entries = new TarEntries(tar)
  try {
    for (let entry = await entries.next(); entry; entry = await entries.next()) {
      const content = contentOf(tar, entry)
      yield { ...entry, content: content.bytes() }
      await content.skipRest()
      await tar.exactly(tarPadding(entry.size).length)
    }
    await onlyZerosLeft(tar)
  } finally {
    await tar.close()
  }
}

/** All of its content, which is then in memory. */
export async function textOf({ content }: Pick<ArchiveEntry, 'content'>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(content)).toString('utf8')
}

/** The content of one entry, for as long as that entry is the current one. */
function contentOf(tar: PlainBytes, { path, size }: TarEntry) {
  let left = size
  let passed = false

  async function* bytes(): AsyncGenerator<Uint8Array> {
    while (left > 0 || passed) {
      if (passed) throw new Error(`the content of ${path} was read after its turn`)
      const some = await tar.some(left)
      left -= some.length
      yield some
    }
  }

  async function skipRest(): Promise<void> {
    passed = left > 0
    while (left > 0) left -= (await tar.some(left)).length
  }

  return { bytes, skipRest }
}

/** Tars are filled up to whole records, of 10 KiB as a rule; what goes on much longer is no filling. */
const MAX_FILLING = 16 * 1024 * 1024

async function onlyZerosLeft(tar: PlainBytes): Promise<void> {
  const end = tar.offset
  for (let rest = await tar.exactly(TAR_BLOCK); rest.length > 0; rest = await tar.upTo(TAR_BLOCK)) {
    const offset = tar.offset - rest.length
    if (offset > end && isTarHeader(rest))
      throw new ArchiveNotSupported('it is several tars, one after another')
    if (!isZero(rest)) throw new ArchiveDamaged('something follows the end of the tar', offset)
    if (tar.offset - end > MAX_FILLING)
      throw new ArchiveDamaged('it goes on after the end of the tar', tar.offset)
  }
}

/** What stands before an entry is read into memory. Extended attributes take the most of it. */
const LARGEST_PAX = 1024 * 1024
const LARGEST_NAME = LONGEST_PATH + 2
/** A path, a link and a pax header, each at most a few times; what goes on is made to never end. */
const MAX_BEFORE_AN_ENTRY = 16

const NOT_SUPPORTED: Readonly<Record<string, string>> = {
  '1': 'a hard link',
  '2': 'a symbolic link',
  '3': 'a character device',
  '4': 'a block device',
  '6': 'a named pipe',
  D: 'the list of a directory (it is an incremental tar)',
  M: 'the rest of a file (it is a tar of several volumes)',
  N: 'names in a form of old',
  S: 'a sparse file',
}
const FILES = ['0', '\0', '7']
const DIRECTORY = '5'

/** The entries of a tar, in any dialect. */
export class TarEntries {
  readonly #tar: PlainBytes
  #forAll: PaxFacts = {}
  #hasRoot = false

  constructor(tar: PlainBytes) {
    this.#tar = tar
  }

  /** Undefined where the end of the tar is marked. */
  async next(): Promise<TarEntry | undefined> {
    const facts: PaxFacts & { longName?: string } = {}
    for (let before = 0; before <= MAX_BEFORE_AN_ENTRY; before += 1) {
      const { offset } = this.#tar
      const block = await this.#tar.exactly(TAR_BLOCK)
      if (isZero(block)) {
        if (before > 0) throw new ArchiveDamaged('the last header has no entry', offset)
        return undefined
      }
      const header = judged(offset, () => parseTarHeader(block))
      if (await this.#isOfTheNext(header, facts)) continue
      const entry = judged(offset, () => entryOf(header, { ...this.#forAll, ...facts }))
      if (entry.path !== '') return entry
      if (this.#hasRoot) throw new ArchiveRefused('its root is in it twice')
      this.#hasRoot = true
      return this.next()
    }
    throw new ArchiveRefused(`an entry has more than ${MAX_BEFORE_AN_ENTRY} headers of its own`)
  }

  /** Whether the header says something of entries that follow, which is then noted. */
  async #isOfTheNext(header: TarHeader, facts: PaxFacts & { longName?: string }): Promise<boolean> {
    const { offset } = this.#tar
    switch (header.type) {
      case 'L': {
        const name = await this.#content(header, 'a long name', LARGEST_NAME)
        facts.longName = judged(offset, () => textUpToNul(name))
        return true
      }
      case 'K': // Where a link leads that is refused itself.
        await this.#content(header, 'a long name', LARGEST_NAME)
        return true
      case 'V': // The name of the tape.
        await this.#content(header, 'a label', LARGEST_NAME)
        return true
      case 'x':
      case 'X': {
        const content = await this.#content(header, 'a pax header', LARGEST_PAX)
        Object.assign(
          facts,
          judged(offset, () => parsePax(content)),
        )
        return true
      }
      case 'g': {
        const content = await this.#content(header, 'a pax header', LARGEST_PAX)
        const said = judged(offset, () => parsePax(content))
        if (said.path !== undefined || said.size !== undefined)
          throw new ArchiveNotSupported('it gives all entries one path or size (global pax header)')
        this.#forAll = { ...this.#forAll, ...said }
        return true
      }
      default:
        return false
    }
  }

  async #content({ size }: TarHeader, what: string, max: number): Promise<Buffer> {
    if (size > max) throw new ArchiveRefused(`${what} has ${size} bytes, more than ${max}`)
    const content = await this.#tar.exactly(size + tarPadding(size).length)
    return content.subarray(0, size)
  }
}

function entryOf(header: TarHeader, facts: PaxFacts & { longName?: string }): TarEntry {
  const { type } = header
  const name = facts.path ?? facts.longName ?? textUpToNul(header.name)
  const size = facts.size ?? header.size
  if (type !== DIRECTORY && !FILES.includes(type)) {
    const what = NOT_SUPPORTED[type] ?? `an entry of the unknown type ${JSON.stringify(type)}`
    throw new ArchiveNotSupported(`it holds ${what}: ${JSON.stringify(name)}`)
  }
  const { path, isFolder } = plainPath(name)
  const bad = path === '' ? undefined : unsafePath(path)
  if (bad) throw new ArchiveRefused(`the path ${JSON.stringify(name)} ${bad}`)
  // In the oldest tars a slash at the end is all that makes a directory.
  const kind = type === DIRECTORY || isFolder ? 'directory' : 'file'
  if (kind === 'directory' && size > 0)
    throw new ArchiveNotSupported(`it holds a directory with content: ${JSON.stringify(name)}`)
  return { path, kind, size, modifiedAt: facts.modifiedAt ?? header.modifiedAt }
}

function judged<T>(offset: number, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    if (error instanceof ArchiveNotSupported || error instanceof ArchiveRefused) throw error
    throw new ArchiveDamaged((error as Error).message, offset, { cause: error })
  }
}

const isZero = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0)
