import { randomUUID } from 'node:crypto'
import { type BigIntStats, existsSync, readFileSync } from 'node:fs'
import { link, lstat, open, readdir, rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { READ_REGULAR } from '@godwit/git/files/regular-file'
import { MAX_CONFIG_BYTES } from '@godwit/git/files/repository-settings'
import { preciseLstatIfExists } from '@godwit/git/files/sync-fs'
import { RepositoryBusy, Unreadable } from '@godwit/git/unreadable'
import { withWriteContext } from '@godwit/lib/disk-errors'
import { hasCode } from '@godwit/lib/errno'
import { lockFile } from '@godwit/lib/file-lock'

interface ConfigEdit {
  /** Returns the new content of the config, checked; undefined if nothing has to change. */
  change(config: Buffer): Promise<Buffer | undefined>
  /** Called while nobody else can change the config. If it returns false, the config stays unchanged. */
  isStillWanted(): Promise<boolean>
}

/**
 * Replaces a repository's config under the lock that git and every other Godwit on the directory use: see docs/decisions/0008. Returns
 * false if the edit is no longer wanted. Rejects with RepositoryBusy if the lock cannot be acquired in time, or with Unreadable.
 */
export async function editConfig(
  dir: string,
  edit: ConfigEdit,
  timeouts: Partial<LockTimeouts> = {},
): Promise<boolean> {
  const waiting = new LockWaiting(join(dir, 'config.lock'), timeouts)
  for (;;) {
    await removeAbandoned(dir)
    const isWanted = await tryToEdit(dir, edit, waiting)
    if (isWanted !== undefined) return isWanted
    await waiting.waitForNextAttempt()
  }
}

/** Returns undefined if the edit must be retried: the lock is held, the config has changed, or `isStillWanted` took too long. */
async function tryToEdit(
  dir: string,
  edit: ConfigEdit,
  waiting: LockWaiting,
): Promise<boolean | undefined> {
  // The holder of the lock may be about to change what this edit is based on.
  if (await preciseLstatIfExists(join(dir, 'config.lock'))) return undefined
  const before = await readConfig(dir)
  const after = await edit.change(before.bytes)
  if (!after) return true
  const id = randomUUID()
  await using liveness = await holdLivenessFile(join(dir, livenessName(id)))
  if (!liveness) return undefined
  const draft = join(dir, draftName(id))
  try {
    await withWriteContext(draft, () => writeDraft(draft, after, before.stats))
    return await replaceConfig(dir, draft, before, () => waiting.orTimeout(edit.isStillWanted()))
  } finally {
    await rm(draft, { force: true })
  }
}

interface Config {
  bytes: Buffer
  stats: BigIntStats
}

export async function readConfig(dir: string): Promise<Config> {
  const path = join(dir, 'config')
  // ELOOP is the code for a link, ENXIO for a socket.
  await using file = await open(path, READ_REGULAR).catch((error: unknown) => {
    throw hasCode(error, 'ELOOP', 'ENXIO') ? notRegular() : error
  })
  const stats = await file.stat({ bigint: true })
  if (!stats.isFile()) throw notRegular()
  if (stats.size > MAX_CONFIG_BYTES) throw new Unreadable('its config is too large')
  return { bytes: await file.readFile(), stats }
}

const notRegular = () => new Unreadable('its config is not a regular file')

/** Syncs the file to disk, and keeps owner and mode: a process of root must not lock the host's user out of the config. */
async function writeDraft(path: string, bytes: Buffer, { uid, gid, mode }: BigIntStats) {
  await using file = await open(path, 'wx', 0o600)
  await file.writeFile(bytes)
  const now = await file.stat({ bigint: true })
  if (now.uid !== uid || now.gid !== gid) await file.chown(Number(uid), Number(gid))
  await file.chmod(Number(mode & 0o7777n))
  await file.sync()
}

/** Works like git: only one process can create `config.lock`, and that process renames it to `config`. */
async function replaceConfig(
  dir: string,
  draft: string,
  before: Config,
  isStillWanted: () => Promise<boolean | undefined>,
): Promise<boolean | undefined> {
  const lock = join(dir, 'config.lock')
  if (!(await linkUnlessExists(draft, lock))) return undefined
  try {
    const isWanted = await isStillWanted()
    if (!isWanted) return isWanted
    if (!isSame(before, await readConfig(dir)) || !(await isSameFile(lock, draft))) return undefined
    await rename(lock, join(dir, 'config'))
  } finally {
    // If it was not renamed, it is still ours: nobody else removes it while our liveness file is locked.
    if (await isSameFile(lock, draft)) await rm(lock, { force: true })
  }
  await using folder = await open(dir)
  await folder.sync()
  return true
}

const isSame = (a: Config, b: Config): boolean =>
  a.stats.ino === b.stats.ino && a.stats.ctimeNs === b.stats.ctimeNs && a.bytes.equals(b.bytes)

async function linkUnlessExists(draft: string, lock: string): Promise<boolean> {
  try {
    await link(draft, lock)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}

async function isSameFile(lock: string, draft: string): Promise<boolean> {
  const held = await preciseLstatIfExists(lock)
  return held !== undefined && held.ino === (await preciseLstatIfExists(draft))?.ino
}

const MIN_WAIT_MS = 10
const MAX_WAIT_MS = 250
/** An attempt fails when another process changes the config or holds the lock at the same time. */
const MAX_ATTEMPTS = 500
const MAX_TIMEOUTS = 8

interface LockTimeouts {
  /** How long to wait while `config.lock` stays the same file. */
  holderMs: number
  /** How long the first `isStillWanted` may take, since nobody else can edit the config meanwhile. Retries get more time. */
  checkMs: number
  /** Shorter than `holderMs`, which is how long others wait for us. */
  maxCheckMs: number
}

const DEFAULT_TIMEOUTS: LockTimeouts = { holderMs: 10_000, checkMs: 2000, maxCheckMs: 8000 }

/**
 * Decides when to retry an edit and when to give up. An edit is given up when `config.lock` stays the same file for too long, not when
 * other processes are faster, so that a slow machine gets more time.
 */
class LockWaiting {
  readonly #lock: string
  readonly #timeouts: LockTimeouts
  #attempts = 0
  #timeoutCount = 0
  #holder: string | undefined
  #heldSince = 0

  constructor(lock: string, timeouts: Partial<LockTimeouts>) {
    this.#lock = lock
    this.#timeouts = { ...DEFAULT_TIMEOUTS, ...timeouts }
  }

  async waitForNextAttempt(): Promise<void> {
    const holder = await this.#readHolder()
    const now = performance.now()
    if (holder === undefined || holder !== this.#holder) this.#heldSince = now
    else if (now - this.#heldSince > this.#timeouts.holderMs)
      throw new RepositoryBusy('its config cannot be changed: another program holds config.lock')
    this.#holder = holder
    if (++this.#attempts === MAX_ATTEMPTS)
      throw new RepositoryBusy('its config cannot be changed: other programs keep changing it')
    const wait = Math.min(MIN_WAIT_MS * 2 ** this.#attempts, MAX_WAIT_MS)
    await sleep(wait * (0.5 + Math.random()))
  }

  /** Returns undefined if `isStillWanted` takes too long: then the lock is released and the edit is retried. */
  async orTimeout(isStillWanted: Promise<boolean>): Promise<boolean | undefined> {
    const { checkMs, maxCheckMs } = this.#timeouts
    const ended = new AbortController()
    const timeout = async () => {
      const ms = Math.min(checkMs * 2 ** this.#timeoutCount, maxCheckMs)
      await sleep(ms, undefined, { signal: ended.signal })
      if (++this.#timeoutCount === MAX_TIMEOUTS)
        throw new RepositoryBusy('the state of its lock could not be read in time')
      return undefined
    }
    try {
      return await Promise.race([isStillWanted, timeout()])
    } finally {
      ended.abort()
    }
  }

  /** Distinguishes successive holders by ctime: file systems can reuse the inode number. */
  async #readHolder(): Promise<string | undefined> {
    const held = await preciseLstatIfExists(this.#lock)
    return held && `${held.ino} ${held.ctimeNs}`
  }
}

/** `config.godwit-MACHINE-UUID` is a draft; `config.godwit-MACHINE-UUID.alive` is its liveness file. */
const EDIT_FILE = /^config\.godwit-([0-9a-f]{8})-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/

/** Changes at every boot, and is the same in all containers of a machine. */
const MACHINE = machineId()

/**
 * How old the files of another machine must be before they are removed: longer than any edit takes. Some file systems do not show the
 * locks of other machines (NFS mounted with `nolock`).
 */
const MIN_ABANDONED_AGE_MS = 600_000

const draftName = (id: string): string => `config.godwit-${MACHINE}-${id}`
export const livenessName = (id: string): string => `${draftName(id)}.alive`

/** Removes the files of edits that were killed: drafts, and `config.lock` if such an edit held it. */
async function removeAbandoned(dir: string): Promise<void> {
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
async function holdLivenessFile(path: string): Promise<AsyncDisposable | undefined> {
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
