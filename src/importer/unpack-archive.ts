import { type Dirent, existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { ArchiveEntry } from '../archive/read-entries.ts'
import type { Folder } from '../archive/read-folder.ts'
import { tarHeader, tarPadding } from '../archive/tar-header.ts'
import { ArchiveDamaged } from '../archive/unreadable-archive.ts'
import type { Bytes } from '../blobs/blob-store.ts'
import { writingTo } from '../lib/disk-errors.ts'
import { hasCode, ifExists } from '../lib/errno.ts'
import { lockFile } from '../lib/file-lock.ts'
import { makeDirectory } from '../lib/make-directory.ts'
import { onChunk } from '../lib/on-chunk.ts'
import { removeIfEmpty, sync } from './install-repository.ts'
import { extractionLimits, safeEntries } from './safe-entries.ts'

/** The tar bytes of one repository and its wiki: what the manifest's segment was made of. */
export interface SegmentRun {
  plainLength: number
  crc32: number
}

export interface Unpacked {
  root: string
  /** By full name. */
  runs: ReadonlyMap<string, SegmentRun>
  /** Set where the archive could not be read to its end, or is not what its checksum says. */
  damage: ArchiveDamaged | undefined
}

/**
 * Unpacks into `root`, which must not be there yet. What was unpacked before damage was found is there, to be judged by
 * other means; whatever else goes wrong is thrown.
 */
export async function unpackArchive(
  archive: Bytes | Folder,
  root: string,
  signal: AbortSignal,
): Promise<Unpacked> {
  await mkdir(root)
  const runs = new Map<string, SegmentRun>()
  const folders = new Set<string>()
  let current = ''
  try {
    for await (const entry of safeEntries(archive, await extractionLimits(root), signal)) {
      current = repositoryOf(entry.path, current)
      const run = runs.get(current) ?? { plainLength: 0, crc32: 0 }
      if (current !== '') {
        runs.set(current, run)
        folders.add(entry.path.split('/', 3).join('/'))
      }
      await write(root, entry, run)
    }
    for (const folder of folders) await addEmptyFolders(join(root, folder))
  } catch (error) {
    if (!(error instanceof ArchiveDamaged)) throw error
    return { root, runs, damage: error }
  }
  return { root, runs, damage: undefined }
}

/**
 * The full name of the repository that a path belongs to, '' where it is none's. Where `a/b.wiki` comes after `a/b` it is
 * the wiki of that, and in the same segment; where it does not, it is a repository.
 */
function repositoryOf(path: string, current: string): string {
  const [top, owner, folder] = path.split('/')
  if (top !== 'repositories' || !folder?.endsWith('.git')) return ''
  const name = `${owner}/${folder.slice(0, -'.git'.length)}`
  return name === `${current}.wiki` ? current : name
}

/** Some who pack leave empty directories out, and git takes none for a repository that has no `refs`. */
async function addEmptyFolders(repository: string): Promise<void> {
  for (const name of ['objects', 'refs'])
    await mkdir(join(repository, name), { recursive: true }).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST', 'ENOTDIR')) throw error
    })
}

async function write(root: string, entry: ArchiveEntry, run: SegmentRun): Promise<void> {
  const path = join(root, entry.path)
  // Written anew from what was understood of it: nothing else in a header has a meaning here.
  add(run, tarHeader(entry))
  if (entry.kind === 'directory') {
    await mkdir(path, { recursive: true })
    return
  }
  await mkdir(dirname(path), { recursive: true })
  const tallied = onChunk(entry.content, (bytes) => add(run, bytes))
  await writingTo(path, () => writeFile(path, tallied, { flag: 'wx' }), entry.size)
  add(run, tarPadding(entry.size))
}

function add(run: SegmentRun, bytes: Uint8Array): void {
  run.crc32 = crc32(bytes, run.crc32)
  run.plainLength += bytes.length
}

/** Where an archive is unpacked for as long as its repositories are taken from it. */
interface Workplace extends AsyncDisposable {
  path: string
  unpacked: Unpacked
}

/** No git host, and no server, takes either for an owner. The first is one that nobody has locked yet. */
const [NEW, NAME] = ['.godwit-new-', '.godwit-restore-']
const LOCK = 'lock'

/** In the directory that they go to: on the same file system, where moving is one step. */
export async function unpackBeside(
  into: string,
  archive: Bytes | Folder,
  signal: AbortSignal,
): Promise<Workplace> {
  const isNew = !existsSync(into)
  await makeDurable(into)
  let path = join(into, NEW)
  let unlock: (() => void) | undefined
  const remove = async () => {
    await rm(path, { recursive: true, force: true })
    unlock?.()
    if (isNew) await removeIfEmpty(into)
  }
  try {
    path = await mkdtemp(path)
    unlock = lockIfPossible(join(path, LOCK))
    const locked = join(into, `${NAME}${basename(path).slice(NEW.length)}`)
    await rename(path, locked)
    path = locked
    const unpacked = await unpackArchive(archive, join(path, 'unpacked'), signal)
    if (unpacked.damage) throw unpacked.damage
    return { path, unpacked, [Symbol.asyncDispose]: remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Removes what restores into this directory did not live to remove; those that live hold a lock. */
export async function sweepWorkDirectories(into: string): Promise<void> {
  for (const entry of await entriesOf(into)) {
    const path = join(into, entry.name)
    const lock = join(path, LOCK)
    // Without a lock there is no telling whose it is.
    if (!entry.isDirectory() || !entry.name.startsWith(NAME) || !existsSync(lock)) continue
    const unlock = lockIfPossible(lock)
    if (!unlock) continue
    await rm(path, { recursive: true, force: true })
    unlock()
  }
}

/** None where there is no such directory. */
export async function entriesOf(directory: string): Promise<Dirent[]> {
  return (await ifExists(readdir(directory, { withFileTypes: true }), 'ENOENT')) ?? []
}

/** Some file systems have no locks: there nothing is swept, and all else works as well. */
function lockIfPossible(file: string): (() => void) | undefined {
  try {
    return lockFile(file)
  } catch {
    return undefined
  }
}

/** So that no repository is restored to where there is nothing once the machine comes back. */
async function makeDurable(directory: string): Promise<void> {
  const there = nearestExisting(directory)
  makeDirectory(directory)
  for (let at = directory; at !== there; at = dirname(at)) await sync(dirname(at))
}

export function nearestExisting(directory: string): string {
  return existsSync(directory) ? directory : nearestExisting(dirname(directory))
}
