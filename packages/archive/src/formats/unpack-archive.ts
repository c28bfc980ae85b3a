import { mkdir, readdir, statfs, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Bytes } from '@godwit/lib/bytes'
import { onChunk } from '@godwit/lib/chunks'
import { withWriteContext } from '@godwit/lib/disk-errors'
import { hasCode } from '@godwit/lib/errno'
import { kindOfFile } from '../records/read-records.ts'
import { isUploadedFile } from '../tar/manifest.ts'
import { type ArchiveEntry, readEntries } from '../tar/read-entries.ts'
import { type Folder, readFolder, withoutFolder } from '../tar/read-folder.ts'
import { tarHeader, tarPadding } from '../tar/tar-header.ts'
import { ArchiveDamaged, ArchiveRefused } from '../tar/unreadable-archive.ts'

/** Length and CRC of the tar bytes of one repository and its wiki, to be compared with its segment in the manifest. */
export type TarChecksum = { plainLength: number; crc32: number }

export interface Unpacked {
  root: string
  /** By the full name of the repository, in the order of the archive. */
  checksums: ReadonlyMap<string, TarChecksum>
  /** Set if the archive is truncated or does not match its checksum. */
  damage: ArchiveDamaged | undefined
}

/**
 * Unpacks into `root`, which must not exist. If the archive is damaged, the entries before the damage stay and `damage` is set. Any
 * other error is thrown.
 */
export async function unpackArchive(archive: Bytes | Folder, root: string, signal: AbortSignal) {
  await mkdir(root)
  const checksums = new Map<string, TarChecksum>()
  const folders = new Set<string>()
  let current = ''
  try {
    for await (const entry of validateEntries(archive, await extractionLimits(root), signal)) {
      current = repositoryOf(entry.path, current)
      const checksum = checksums.get(current) ?? { plainLength: 0, crc32: 0 }
      if (current !== '') {
        checksums.set(current, checksum)
        folders.add(entry.path.split('/', 3).join('/'))
      }
      await writeEntry(root, entry, checksum)
    }
    for (const folder of folders) await addEmptyFolders(join(root, folder))
  } catch (error) {
    if (!(error instanceof ArchiveDamaged)) throw error
    return { root, checksums, damage: error }
  }
  return { root, checksums, damage: undefined }
}

/** Lists the files of records in an unpacked archive, sorted by name. */
export async function listRecordFiles(root: string): Promise<{ file: string; kind: string }[]> {
  return (await readdir(root)).sort().flatMap((file) => {
    const kind = kindOfFile(file)
    return kind === undefined ? [] : [{ file, kind }]
  })
}

/**
 * Returns the full name of the repository that a path belongs to, or '' if it belongs to none. `a/b.wiki` right after `a/b` is its
 * wiki and in the same segment. Otherwise it is a repository.
 */
function repositoryOf(path: string, current: string): string {
  const [top, owner, folder] = path.split('/')
  if (top !== 'repositories' || !folder?.endsWith('.git')) return ''
  const name = `${owner}/${folder.slice(0, -'.git'.length)}`
  return name === `${current}.wiki` ? current : name
}

/** Some programs leave empty directories out of an archive, but git needs `refs` to recognize a repository. */
async function addEmptyFolders(repository: string): Promise<void> {
  for (const name of ['objects', 'refs'])
    await mkdir(join(repository, name), { recursive: true }).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST', 'ENOTDIR')) throw error
    })
}

async function writeEntry(root: string, entry: ArchiveEntry, tar: TarChecksum): Promise<void> {
  const add = (bytes: Uint8Array) => {
    tar.crc32 = crc32(bytes, tar.crc32)
    tar.plainLength += bytes.length
  }
  const path = join(root, entry.path)
  // The header is rendered again, so that only the fields that Godwit writes are compared.
  add(tarHeader(entry))
  if (entry.kind === 'directory') {
    await mkdir(path, { recursive: true })
    return
  }
  await mkdir(dirname(path), { recursive: true })
  const content = onChunk(entry.content, add)
  await withWriteContext(path, () => writeFile(path, content, { flag: 'wx' }), entry.size)
  add(tarPadding(entry.size))
}

interface ExtractionLimits {
  /** The most bytes that may be unpacked. */
  bytes: number
  /** The directory that is unpacked into, for the message. */
  where: string
}

/** For callers that read the entries without unpacking them. */
export const NOT_UNPACKED: ExtractionLimits = { bytes: Number.POSITIVE_INFINITY, where: '' }

const MAX_SHARE_OF_FREE = 0.9

export async function extractionLimits(directory: string): Promise<ExtractionLimits> {
  const { bavail, bsize } = await statfs(directory)
  return { bytes: Math.floor(bavail * bsize * MAX_SHARE_OF_FREE), where: directory }
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
export async function* validateEntries(
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
