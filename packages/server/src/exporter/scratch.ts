import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { lockFile } from '@godwit/lib/file-lock'
import { makeDirectory } from '@godwit/lib/make-directory'

/** The directory for the snapshots and temporary files of one process. */
export interface Scratch {
  directory: string
  release(): Promise<void>
}

const LOCK = 'lock'
/** The prefix of a directory that is not locked yet. */
const NEW_PREFIX = '.new-'

/**
 * Creates a directory for this process below the one that all processes of a data directory share. The process holds a lock in
 * it, so that a sweep can distinguish it from the directories of dead processes.
 */
export async function createScratch(root: string): Promise<Scratch> {
  makeDirectory(root, 0o700)
  const made = await mkdtemp(join(root, NEW_PREFIX))
  const unlock = lockFile(join(made, LOCK))
  // Renamed after it is locked, so that a sweep never finds it without its lock.
  const directory = join(root, basename(made).slice(NEW_PREFIX.length))
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
 * Removes the directories of dead processes: those whose lock is free, and those without a lock that are old enough. With 0, all
 * without a lock are removed, even those with a time in the future, which exist after the clock was set back.
 */
export async function sweepScratch(root: string, olderThanMs: number): Promise<void> {
  makeDirectory(root, 0o700)
  for (const name of await readdir(root)) {
    const path = join(root, name)
    const lock = join(path, LOCK)
    if (!name.startsWith(NEW_PREFIX) && existsSync(lock)) {
      const unlock = lockFile(lock)
      if (!unlock) continue
      await remove(path)
      unlock()
    } else if (await isOlder(path, olderThanMs)) await remove(path)
  }
}

/** Returns the disk usage of the files below a directory. Hard links to files of repositories do not count. */
export async function diskUsage(directory: string): Promise<number> {
  let bytes = 0
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => [])
  for (const entry of entries) {
    if (!entry.isFile()) continue
    // The snapshot may have been removed meanwhile.
    const found = await stat(join(entry.parentPath, entry.name)).catch(() => undefined)
    if (found && found.nlink === 1) bytes += found.blocks * BLOCK_BYTES
  }
  return bytes
}

/** The unit of `blocks` in the result of `stat`, on every disk. */
const BLOCK_BYTES = 512

async function isOlder(path: string, thanMs: number): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && (thanMs <= 0 || found.mtimeMs <= Date.now() - thanMs)
}

/** Retries, because a git process that outlives its parent may still write there for a moment. */
const remove = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true, maxRetries: 5 })
