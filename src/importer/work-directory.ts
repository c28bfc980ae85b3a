import { type Dirent, existsSync } from 'node:fs'
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Folder } from '../archive/read-folder.ts'
import type { Bytes } from '../blobs/blob-store.ts'
import { ifExists } from '../lib/errno.ts'
import { lockFile } from '../lib/file-lock.ts'
import { makeDirectory } from '../lib/make-directory.ts'
import { removeIfEmpty, sync } from './install-repository.ts'
import { type Unpacked, unpackArchive } from './unpack-archive.ts'

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
