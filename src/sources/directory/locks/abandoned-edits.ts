import { existsSync, readFileSync } from 'node:fs'
import { lstat, readdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { hasCode } from '../../../lib/errno.ts'
import { lockFile } from '../../../lib/file-lock.ts'
import { Unreadable } from '../../unreadable.ts'
import { preciseLstatIfExists } from '../files/sync-fs.ts'

/** `config.godwit-MACHINE-UUID` is a draft; `config.godwit-MACHINE-UUID.alive` is its liveness file. */
const EDIT_FILE = /^config\.godwit-([0-9a-f]{8})-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/

/** Changes at every boot, and is the same in all containers of a machine. */
const MACHINE = machineId()

/**
 * How old the files of another machine must be before they are removed: longer than any edit takes. Some file systems do not show the
 * locks of other machines (NFS mounted with `nolock`).
 */
const MIN_ABANDONED_AGE_MS = 600_000

export const draftName = (id: string): string => `config.godwit-${MACHINE}-${id}`
export const livenessName = (id: string): string => `${draftName(id)}.alive`

/** Removes the files of edits that were killed: drafts, and `config.lock` if such an edit held it. */
export async function removeAbandoned(dir: string): Promise<void> {
  const edits = Map.groupBy(await readdir(dir), (name) => EDIT_FILE.exec(name)?.[0])
  for (const [edit, names] of edits) {
    if (edit === undefined) continue
    const isOfThisMachine = EDIT_FILE.exec(edit)![1] === MACHINE
    if (isOfThisMachine || (await areOld(dir, names))) await removeIfDead(dir, edit, names)
  }
}

/**
 * The files of an edit are removed only by the process that made it, or by one that has locked its liveness file after that process
 * died. So no file can be replaced by another edit's between the check and the removal.
 */
async function removeIfDead(dir: string, edit: string, names: readonly string[]): Promise<void> {
  const liveness = `${edit}.alive`
  await using held = await holdLivenessFile(join(dir, liveness))
  if (!held) return
  const draft = await preciseLstatIfExists(join(dir, edit))
  const lock = join(dir, 'config.lock')
  const lockStats = await preciseLstatIfExists(lock)
  // Git creates a new file, so a lock that is also a draft is ours.
  if (draft && lockStats?.ino === draft.ino) await rm(lock, { force: true })
  for (const name of names) if (name !== liveness) await rm(join(dir, name), { force: true })
}

async function areOld(dir: string, names: readonly string[]): Promise<boolean> {
  const found = await Promise.all(names.map((name) => preciseLstatIfExists(join(dir, name))))
  return found.every((stats) => !stats || stats.ctimeMs < BigInt(Date.now() - MIN_ABANDONED_AGE_MS))
}

function machineId(): string {
  const file = '/proc/sys/kernel/random/boot_id'
  const id = existsSync(file) ? readFileSync(file, 'utf8') : Buffer.from(hostname()).toString('hex')
  return id.slice(0, 8).padEnd(8, '0')
}

const SQLITE_CANTOPEN = 14
/** SQLite refuses longer paths. */
const MAX_PATH_BYTES = 511

export const isPathTooLong = (path: string): boolean => Buffer.byteLength(path) > MAX_PATH_BYTES

/**
 * Locks a file, creating it if necessary. The kernel releases the lock however the process ends, and a file server does so when it loses
 * the machine: a process that can lock the file of another knows that the other is dead. Disposing of the lock removes the file and
 * releases the lock. Returns undefined if the file is locked, or was removed at the same moment.
 */
export async function holdLivenessFile(path: string): Promise<AsyncDisposable | undefined> {
  const stats = await preciseLstatIfExists(path)
  // Locking follows links, and would open or create their target. None of our liveness files is a link.
  if (stats && !(stats.isFile() && stats.nlink === 1n)) return undefined
  const release = lockOrUnreadable(path)
  if (!release) return undefined
  try {
    await lstat(path)
  } catch (error) {
    release()
    // Another process took the file for an abandoned one and removed it before we locked it.
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  return { [Symbol.asyncDispose]: () => rm(path, { force: true }).finally(release) }
}

function lockOrUnreadable(path: string): (() => void) | undefined {
  try {
    return lockFile(path)
  } catch (error) {
    const { errcode } = error as { errcode?: number }
    if (errcode === undefined) throw error
    const cannotOpen = (errcode & 0xff) === SQLITE_CANTOPEN
    const reason = cannotOpen
      ? 'its directory cannot be written to'
      : 'its file system does not support file locks'
    throw new Unreadable(reason, { cause: error })
  }
}
