import { type BigIntStats, existsSync, readFileSync } from 'node:fs'
import { lstat, readdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { hasCode, ifExists } from '../../../lib/errno.ts'
import { lockFile } from '../../../lib/file-lock.ts'
import { Unreadable } from '../../unreadable.ts'

/** `config.godwit-MACHINE-UUID` is a draft, with `.alive` whoever made it; former versions named no machine. */
const OURS = /^config\.godwit-(?:([0-9a-f]{8})-)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/

/** Changes whenever the machine starts, and is the same in all of its containers. */
const MACHINE = machine()

/**
 * For file systems that do not tell one machine's locks to the other (NFS mounted with `nolock`), and for former versions,
 * which gave no sign of life: what they left is left alone for longer than any edit can take.
 */
const LEFT_ALONE_MS = 600_000

export const draftName = (id: string): string => `config.godwit-${MACHINE}-${id}`
export const signName = (id: string): string => `${draftName(id)}.alive`

/** What edits have left that were killed: drafts, and `config.lock` if one of them had taken it. */
export async function removeAbandoned(dir: string): Promise<void> {
  const edits = Map.groupBy(await readdir(dir), (name) => OURS.exec(name)?.[0])
  for (const [edit, names] of edits) {
    if (edit === undefined) continue
    const isOfThisMachine = OURS.exec(edit)![1] === MACHINE
    if (isOfThisMachine || (await areOld(dir, names))) await removeIfDead(dir, edit, names)
  }
}

/**
 * Only whoever made an edit, or holds its sign of life after the maker's death, removes what is of it. So what is looked at
 * here cannot become another's before it is removed.
 */
async function removeIfDead(dir: string, edit: string, names: readonly string[]): Promise<void> {
  const signName = `${edit}.alive`
  await using sign = await holdSign(join(dir, signName))
  if (!sign) return
  const draft = await exactLstatIfThere(join(dir, edit))
  const lock = join(dir, 'config.lock')
  const held = await exactLstatIfThere(lock)
  // Git makes its own file, so one that is a draft of ours too was put there by us.
  if (draft && held?.ino === draft.ino) await rm(lock, { force: true })
  for (const name of names) if (name !== signName) await rm(join(dir, name), { force: true })
}

async function areOld(dir: string, names: readonly string[]): Promise<boolean> {
  const seen = await Promise.all(names.map((name) => exactLstatIfThere(join(dir, name))))
  return seen.every((stats) => !stats || stats.ctimeMs < BigInt(Date.now() - LEFT_ALONE_MS))
}

/** As whole numbers: those of some file systems are too large for others. */
export const exactLstatIfThere = (path: string): Promise<BigIntStats | undefined> =>
  ifExists(lstat(path, { bigint: true }), 'ENOENT')

function machine(): string {
  const file = '/proc/sys/kernel/random/boot_id'
  const id = existsSync(file) ? readFileSync(file, 'utf8') : Buffer.from(hostname()).toString('hex')
  return id.slice(0, 8).padEnd(8, '0')
}

const SQLITE_CANTOPEN = 14
/** SQLite opens no file by a longer path. */
const LONGEST_PATH_BYTES = 511

export const isTooLong = (path: string): boolean => Buffer.byteLength(path) > LONGEST_PATH_BYTES

/** Disposing of it takes the file away, and then lets go of it. */
type SignOfLife = AsyncDisposable

/**
 * Holds a file by a lock that the kernel releases however the process ends, and on a shared file system the server when the
 * machine is lost. Whoever gets hold of another's file knows that the other is dead. Undefined where the file is held, or
 * was taken away in the same instant.
 */
export async function holdSign(path: string): Promise<SignOfLife | undefined> {
  const there = await exactLstatIfThere(path)
  // A link would be followed, and what it leads to opened or made: no sign of ours is one.
  if (there && !(there.isFile() && there.nlink === 1n)) return undefined
  const letGo = lockOrRefuse(path)
  if (!letGo) return undefined
  try {
    await lstat(path)
  } catch (error) {
    letGo()
    // Held, but no longer by this name: it was taken for a dead one's between being made and being held.
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  return { [Symbol.asyncDispose]: () => rm(path, { force: true }).finally(letGo) }
}

function lockOrRefuse(path: string): (() => void) | undefined {
  try {
    return lockFile(path)
  } catch (error) {
    const { errcode } = error as { errcode?: number }
    if (errcode === undefined) throw error
    const isClosed = (errcode & 0xff) === SQLITE_CANTOPEN
    const reason = isClosed
      ? 'its directory cannot be written to'
      : 'its file system does not support file locks'
    throw new Unreadable(reason, { cause: error })
  }
}
