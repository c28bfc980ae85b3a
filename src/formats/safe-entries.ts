import { statfs } from 'node:fs/promises'
import { isUploadedFile } from '../archive/manifest.ts'
import { type ArchiveEntry, readEntries } from '../archive/read-entries.ts'
import { type Folder, readFolder } from '../archive/read-folder.ts'
import { ArchiveRefused } from '../archive/unreadable-archive.ts'
import { withoutFolder } from '../archive/without-folder.ts'
import type { Bytes } from '../lib/bytes.ts'

export interface ExtractionLimits {
  /** The most bytes that may be unpacked. */
  bytes: number
  /** The directory that is unpacked into, for the message. */
  where: string
}

/** For callers that read the entries without unpacking them. */
export const NOT_UNPACKED: ExtractionLimits = { bytes: Number.POSITIVE_INFINITY, where: '' }

const MAX_PART_OF_FREE = 0.9

export async function extractionLimits(directory: string): Promise<ExtractionLimits> {
  const { bavail, bsize } = await statfs(directory)
  return { bytes: Math.floor(bavail * bsize * MAX_PART_OF_FREE), where: directory }
}

/** Limits the memory for paths, which are kept to the end to detect duplicates. Enough for five million loose objects. */
const LIMITS = { entries: 5_000_000, characters: 512 * 1024 * 1024 }
/** The disk space of the smallest file. */
const DISK_BLOCK_BYTES = 4096
/** Records, refs and descriptions are read into memory; objects, uploads and lines of JSON are not. */
const MAX_TEXT_BYTES = 256 * 1024 * 1024
/** Matches paths of git objects and LFS objects. */
export const IS_OBJECT = /^repositories\/[^/]+\/[^/]+\/(?:objects|lfs)\//
/** Matches the large files of GitLab's project exports. */
const IS_GITLAB_DATA =
  /^(?:project(?:\.\w+)?\.bundle$|(?:snippets|uploads|lfs-objects)\/|tree\/project\/\w+\.ndjson$)/

/**
 * Yields the entries of an untrusted archive. The reader ensures that paths are relative and stay inside, and that there are only
 * files and directories. This function ensures that no path occurs twice, that no path is inside a file, and that everything fits
 * on the disk. Each entry is checked by its header, before its content is read. Throws ArchiveRefused.
 */
export async function* safeEntries(
  archive: Bytes | Folder,
  extraction: ExtractionLimits,
  signal: AbortSignal,
  limits = LIMITS,
): AsyncGenerator<ArchiveEntry> {
  const kinds = new Map<string, PathKind>()
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
    addPath(kinds, entry)
    refuseCaseConflict(spellings, path)
    const mayBeLarge = IS_OBJECT.test(path) || isUploadedFile(path) || IS_GITLAB_DATA.test(path)
    if (size > MAX_TEXT_BYTES && !mayBeLarge)
      throw new ArchiveRefused(`${path}: file too large (${size} bytes)`)
    bytes += (Math.ceil(size / DISK_BLOCK_BYTES) + 1) * DISK_BLOCK_BYTES
    if (bytes > extraction.bytes)
      throw new ArchiveRefused(
        `up to ${path} it unpacks to ${bytes} bytes, and ${extraction.where} has space for ${extraction.bytes}`,
      )
    if (kinds.size > limits.entries)
      throw new ArchiveRefused(`it has more than ${limits.entries} entries`)
    yield entry
  }
}

/** An implied directory contains an entry and has no entry itself, at least not yet. */
type PathKind = 'file' | 'directory' | 'implied'

function addPath(kinds: Map<string, PathKind>, { path, kind }: ArchiveEntry): void {
  const before = kinds.get(path)
  if (before !== undefined && !(before === 'implied' && kind === 'directory'))
    throw new ArchiveRefused(`${path} is in it twice`)
  kinds.set(path, kind)
  for (let end = path.lastIndexOf('/'); end !== -1; end = path.lastIndexOf('/', end - 1)) {
    const parent = path.slice(0, end)
    const parentKind = kinds.get(parent)
    if (parentKind === 'file')
      throw new ArchiveRefused(`${path} would lie inside the file ${parent}`)
    if (parentKind !== undefined) return
    kinds.set(parent, 'implied')
  }
}

/**
 * Owners, repositories and files at the top must differ in more than case, because servers ignore case. Refs in a repository may
 * differ only in case. If the file system ignores case, unpacking the second one fails instead of overwriting the first.
 */
function refuseCaseConflict(spellings: Map<string, string>, path: string): void {
  const parts = path.split('/')
  const depth = parts[0] === 'repositories' ? 3 : 1
  for (let end = 1; end <= Math.min(depth, parts.length); end++) {
    const name = parts.slice(0, end).join('/')
    const key = name.normalize('NFC').toLowerCase()
    const known = spellings.get(key)
    if (known === undefined) spellings.set(key, name)
    else if (known !== name)
      throw new ArchiveRefused(`${name} differs from ${known} only in case or Unicode form`)
  }
}
