import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { lockFile } from '../lib/file-lock.ts'
import { makeDirectory } from '../lib/make-directory.ts'

/** Where one process keeps its snapshots while it reads them. */
export interface Scratch {
  directory: string
  /** Removes it with all that is in it. */
  release(): Promise<void>
}

const LOCK = 'lock'
/** One that its process has not locked yet. */
const NEW = '.new-'

/**
 * A directory of this process alone, below the one that all on a data directory share. As long as the process lives it
 * holds a lock in it, so that whoever sweeps can tell it from what the dead have left.
 */
export async function takeScratch(root: string): Promise<Scratch> {
  makeDirectory(root, 0o700)
  const made = await mkdtemp(join(root, NEW))
  const unlock = lockFile(join(made, LOCK))
  // Named only now: under this name it is never seen without its lock.
  const directory = join(root, basename(made).slice(NEW.length))
  await rename(made, directory)
  return {
    directory,
    async release() {
      await remove(directory)
      unlock?.()
    },
  }
}

/**
 * Removes what processes did not live to remove: at once where the lock says so, by its age where there is none. Older
 * than nothing are all, even those that a clock which has been put back since says are yet to come.
 */
export async function sweepScratch(root: string, olderThanMs: number): Promise<void> {
  makeDirectory(root, 0o700)
  for (const name of await readdir(root)) {
    const path = join(root, name)
    const lock = join(path, LOCK)
    if (!name.startsWith(NEW) && existsSync(lock)) {
      const unlock = lockFile(lock)
      if (!unlock) continue
      await remove(path)
      unlock()
    } else if (await isOlder(path, olderThanMs)) await remove(path)
  }
}

/** What the files below it take. Links to files of the repositories take nothing. */
export async function bytesBelow(directory: string): Promise<number> {
  let bytes = 0
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => [])
  for (const entry of entries) {
    if (!entry.isFile()) continue
    // A snapshot may be removed meanwhile.
    const found = await stat(join(entry.parentPath, entry.name)).catch(() => undefined)
    if (found && found.nlink === 1) bytes += found.blocks * BLOCK
  }
  return bytes
}

/** What `stat` counts in, whatever the disk. */
const BLOCK = 512

async function isOlder(path: string, thanMs: number): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && (thanMs <= 0 || found.mtimeMs <= Date.now() - thanMs)
}

/** A git that outlived its process may still write there for a moment. */
const remove = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true, maxRetries: 5 })
