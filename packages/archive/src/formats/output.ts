import { hash } from 'node:crypto'
import { type Dirent, existsSync } from 'node:fs'
import { copyFile, link, mkdir, mkdtemp, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { hasCode, ifExists } from '@godwit/lib/errno'
import { lockFile } from '@godwit/lib/file-lock'
import { makeDirectory } from '@godwit/lib/make-directory'
import { mapConcurrent } from '@godwit/lib/turns'
import { UserError } from '@godwit/lib/user-error'

// Neither is valid as the name of an owner, on any git host. A directory has the first prefix until it is locked.
const [UNLOCKED_PREFIX, PREFIX] = ['.godwit-new-', '.godwit-restore-']
const LOCK = 'lock'

/**
 * Makes a work directory inside `into`. That is on the same file system as the targets, so that repositories can be moved
 * atomically. Disposing removes it, and `into` too if it was made here and is empty.
 */
export async function makeWorkDirectory(into: string): Promise<AsyncDisposable & { path: string }> {
  const isNew = !existsSync(into)
  await makeDirectoryDurably(into)
  let path = join(into, UNLOCKED_PREFIX)
  let unlock: (() => void) | undefined
  const remove = async () => {
    await rm(path, { recursive: true, force: true })
    unlock?.()
    if (isNew) await removeIfEmpty(into)
  }
  try {
    path = await mkdtemp(path)
    unlock = lockIfPossible(join(path, LOCK))
    const locked = join(into, `${PREFIX}${basename(path).slice(UNLOCKED_PREFIX.length)}`)
    await rename(path, locked)
    path = locked
    return { path, [Symbol.asyncDispose]: remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Removes work directories of processes that were killed. A running process holds a lock on its work directory. */
export async function sweepWorkDirectories(into: string): Promise<void> {
  for (const entry of await readdirIfExists(into)) {
    const path = join(into, entry.name)
    const lock = join(path, LOCK)
    // Without a lock file, the owner may still be running.
    if (!entry.isDirectory() || !entry.name.startsWith(PREFIX) || !existsSync(lock)) continue
    const unlock = lockIfPossible(lock)
    if (!unlock) continue
    await rm(path, { recursive: true, force: true })
    unlock()
  }
}

/** Returns an empty list if the directory does not exist. */
export async function readdirIfExists(directory: string): Promise<Dirent[]> {
  return (await ifExists(readdir(directory, { withFileTypes: true }), 'ENOENT')) ?? []
}

/** Returns undefined if another process holds the lock, or if the file system has no locks. */
function lockIfPossible(file: string): (() => void) | undefined {
  try {
    return lockFile(file)
  } catch {
    return undefined
  }
}

/** Syncs every directory that it creates, so that a restored repository is not lost in a crash. */
async function makeDirectoryDurably(directory: string): Promise<void> {
  const existing = nearestExisting(directory)
  makeDirectory(directory)
  for (let at = directory; at !== existing; at = dirname(at)) await sync(dirname(at))
}

export function nearestExisting(directory: string): string {
  return existsSync(directory) ? directory : nearestExisting(dirname(directory))
}

/** Throws UserError if one of the `folders`, which are `OWNER/NAME`, exists. Compares names without regard to case, as servers do. */
export async function refuseExisting(into: string, folders: ReadonlySet<string>): Promise<void> {
  const owners = await entriesByKey(into)
  for (const folder of folders) {
    const [owner = '', name = ''] = folder.split('/')
    const existing = owners.get(owner.toLowerCase())
    if (!existing) continue
    const directory = join(into, existing.name)
    // A symbolic link could lead anywhere, and git hosts do not follow it.
    if (!existing.isDirectory())
      throw new UserError(`${directory} already exists and is not a directory`)
    const taken = (await entriesByKey(directory)).get(name.toLowerCase())
    if (taken) {
      const path = join(directory, taken.name)
      throw new UserError(`${path} already exists; move it away, or name another directory`)
    }
    const why = `differs only in case from ${existing.name}, which already exists`
    if (existing.name !== owner) throw new UserError(`${owner} ${why}`)
  }
}

async function entriesByKey(folder: string): Promise<Map<string, Dirent>> {
  return new Map((await readdirIfExists(folder)).map((each) => [each.name.toLowerCase(), each]))
}

/** Creates the directory of an owner, calls `move`, which moves something into it, and makes the result durable. */
export async function moveDurably(owner: string, move: () => Promise<void>): Promise<void> {
  const isNew = (await mkdir(owner, { recursive: true })) !== undefined
  const undo = async () => {
    if (isNew) await removeIfEmpty(owner)
  }
  await move().catch((error: unknown) => undoAndThrow(error, undo))
  for (const folder of [owner, dirname(owner)]) await sync(folder)
}

/** Moves a directory. Fails if the target exists: a rename alone would replace an empty directory. */
export async function moveTo(from: string, to: string): Promise<void> {
  await mkdir(to)
  await rename(from, to).catch((error: unknown) => undoAndThrow(error, () => rmdir(to)))
}

/** Calls `undo` and throws the error. If `undo` fails too, the message contains both errors. */
export async function undoAndThrow(error: unknown, undo: () => Promise<void>): Promise<never> {
  try {
    await undo()
  } catch (second) {
    const [first, then] = [error, second].map((each) => (each as Error).message)
    throw new Error(`${first}; undoing it failed too: ${then}`, { cause: error })
  }
  throw error
}

async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((error: unknown) => {
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error
  })
}

/** Low enough for any limit on open files. */
const CONCURRENT_SYNCS = 32

export async function syncTree(dir: string): Promise<void> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  await mapConcurrent(entries, { concurrency: CONCURRENT_SYNCS }, (entry) =>
    sync(join(entry.parentPath, entry.name)),
  )
  await sync(dir)
}

/** Syncs a file or directory, so that it is not lost in a crash (fsync). */
export async function sync(path: string): Promise<void> {
  await using handle = await open(path)
  await handle.sync()
}

/**
 * Links a file into a directory, which is created. Copies the file if it cannot be linked: some file systems have no hard links, and
 * some allow none to files of other users.
 */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  await link(from, to).catch((error: unknown) => {
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS', 'EXDEV')) throw error
    return copyFile(from, to)
  })
}

/** Returns a file name that needs no escaping in a URL or in Markdown. */
export function urlName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]/g, '_').slice(-100)
  return /^\.*$/.test(plain) ? 'file' : plain
}

/** Returns the same UUID whenever it gets the same text. */
export const uuidFrom = (text: string): string =>
  hash('sha256', text).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')
