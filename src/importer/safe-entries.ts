import { statfs } from 'node:fs/promises'
import { isStoredFile } from '../archive/manifest.ts'
import { type ArchiveEntry, readEntries } from '../archive/read-entries.ts'
import { type Folder, readFolder } from '../archive/read-folder.ts'
import { ArchiveRefused } from '../archive/unreadable-archive.ts'
import { withoutFolder } from '../archive/without-folder.ts'
import type { Bytes } from '../blobs/blob-store.ts'

/** How much may be unpacked. */
export interface ExtractionLimits {
  bytes: number
  /** What the bytes are a part of, for the message. */
  where: string
}

/** For who only looks at it. */
export const NOT_UNPACKED: ExtractionLimits = { bytes: Number.POSITIVE_INFINITY, where: '' }

const PART_OF_FREE = 0.9

export async function extractionLimits(directory: string): Promise<ExtractionLimits> {
  const { bavail, bsize } = await statfs(directory)
  return { bytes: Math.floor(bavail * bsize * PART_OF_FREE), where: directory }
}

/** What is held in memory until the end, so that nothing comes twice. */
export interface PathLimits {
  entries: number
  /** Of all paths together. */
  characters: number
}

/** Enough for five million paths such as those of loose objects. */
const LIMITS: PathLimits = { entries: 5_000_000, characters: 512 * 1024 * 1024 }
/** What the smallest file takes on a disk. */
const DISK_BLOCK = 4096
/** Records, refs and descriptions are read into memory; objects are not. */
const LARGEST_TEXT = 256 * 1024 * 1024
/** Of git or LFS. */
export const IS_OBJECT = /^repositories\/[^/]+\/[^/]+\/(?:objects|lfs)\//

/**
 * The entries of an archive that anybody may have made. That paths are relative and lead nowhere else, and that there are
 * only files and directories, is the reader's to see to; here no path comes twice, nothing is inside a file, and all of
 * it fits. An entry is judged by its header, before any of its content is read.
 */
export async function* safeEntries(
  archive: Bytes | Folder,
  room: ExtractionLimits,
  signal: AbortSignal,
  limits = LIMITS,
): AsyncGenerator<ArchiveEntry> {
  const taken = new Map<string, Taken>()
  const spellings = new Map<string, string>()
  let [bytes, characters] = [0, 0]
  const entries =
    'folder' in archive
      ? readFolder(archive, { signal })
      : withoutFolder(readEntries(archive, { signal }))
  for await (const entry of entries) {
    const { path, size } = entry
    characters += path.length
    if (characters > limits.characters)
      throw new ArchiveRefused(`the paths in it have more than ${limits.characters} characters`)
    take(taken, entry)
    refuseTwins(spellings, path)
    if (size > LARGEST_TEXT && !IS_OBJECT.test(path) && !isStoredFile(path))
      throw new ArchiveRefused(`${path} is to have ${size} bytes, too many for what it is`)
    bytes += (Math.ceil(size / DISK_BLOCK) + 1) * DISK_BLOCK
    if (bytes > room.bytes)
      throw new ArchiveRefused(
        `up to ${path} it unpacks to ${bytes} bytes, and ${room.where} has room for ${room.bytes}`,
      )
    if (taken.size > limits.entries)
      throw new ArchiveRefused(`it has more than ${limits.entries} entries`)
    yield entry
  }
}

/** An implied directory has no entry of its own (yet), but something in it. */
type Taken = 'file' | 'directory' | 'implied'

function take(taken: Map<string, Taken>, { path, kind }: ArchiveEntry): void {
  const before = taken.get(path)
  if (before !== undefined && !(before === 'implied' && kind === 'directory'))
    throw new ArchiveRefused(`${path} is in it twice`)
  taken.set(path, kind)
  for (let end = path.lastIndexOf('/'); end !== -1; end = path.lastIndexOf('/', end - 1)) {
    const parent = path.slice(0, end)
    const there = taken.get(parent)
    if (there === 'file') throw new ArchiveRefused(`${path} would lie inside the file ${parent}`)
    if (there !== undefined) return
    taken.set(parent, 'implied')
  }
}

/**
 * Owners, repositories and files at the top are one without regard to case, wherever they go. Below, in a repository, refs and
 * objects may differ in nothing else, and where the disk cannot tell them apart, the second is not written over the first.
 */
function refuseTwins(spellings: Map<string, string>, path: string): void {
  const parts = path.split('/')
  const depth = parts[0] === 'repositories' ? 3 : 1
  for (let end = 1; end <= Math.min(depth, parts.length); end++) {
    const name = parts.slice(0, end).join('/')
    const key = name.normalize('NFC').toLowerCase()
    const known = spellings.get(key)
    if (known === undefined) spellings.set(key, name)
    else if (known !== name)
      throw new ArchiveRefused(`${name} differs from ${known} only in how it is spelled`)
  }
}
