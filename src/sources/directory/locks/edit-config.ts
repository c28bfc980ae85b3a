import { randomUUID } from 'node:crypto'
import { type BigIntStats, constants } from 'node:fs'
import { chown, copyFile, link, lstat, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Git } from '../../../git/git.ts'
import { hasCode } from '../../../ground/errno.ts'
import { Unreadable } from '../../unreadable.ts'

const DRAFT = 'config.godwit-'
const FIRST_WAIT_MS = 10
const LONGEST_WAIT_MS = 10_000
/** An edit takes milliseconds: what is older was left by one that was killed. */
const ABANDONED_AFTER_MS = 2000

/**
 * Changes a repository's config by `git config` and these arguments. Git would hold `config.lock` while it works and leave
 * it there if it is killed, and then nobody could edit the config any more. So git works on a draft of ours, and the lock
 * is taken only by the finished draft, on its way into place: one that is left is known by being a draft as well.
 */
export async function editConfig(git: Git, dir: string, change: readonly string[]): Promise<void> {
  await removeAbandoned(dir)
  for (let wait = FIRST_WAIT_MS, waited = 0; ; waited += wait, wait *= 2) {
    if (await tryToEdit(git, dir, change)) return
    if (waited + wait > LONGEST_WAIT_MS)
      throw new Unreadable('it cannot be locked or unlocked: config.lock is held by another')
    await pause(wait)
    await removeAbandoned(dir)
  }
}

/** Whether it was done; not where another holds the config, or changed it meanwhile. */
async function tryToEdit(git: Git, dir: string, change: readonly string[]): Promise<boolean> {
  const config = join(dir, 'config')
  const lock = join(dir, 'config.lock')
  const draft = join(dir, `${DRAFT}${randomUUID()}`)
  const before = await lstat(config, { bigint: true })
  // Git would follow a link and write to whatever it leads to.
  if (!before.isFile()) throw new Unreadable('its config is not a file of its own')
  try {
    await copyFile(config, draft, constants.COPYFILE_EXCL)
    await git.run(['config', '--file', draft, ...change])
    await settle(draft, before)
    if (!(await linkUnlessHeld(draft, lock))) return false
    if (!isSame(await lstat(config, { bigint: true }), before)) {
      await rm(lock)
      return false
    }
    await rename(lock, config)
    return true
  } finally {
    for (const ours of [draft, `${draft}.lock`]) await rm(ours, { force: true })
  }
}

/** On disk for certain, and as before the host's own: under root its user could be shut out of its config. */
async function settle(draft: string, { uid, gid }: BigIntStats): Promise<void> {
  await using file = await open(draft)
  const now = await file.stat({ bigint: true })
  if (now.uid !== uid || now.gid !== gid) await chown(draft, Number(uid), Number(gid))
  await file.sync()
}

async function linkUnlessHeld(draft: string, lock: string): Promise<boolean> {
  try {
    await link(draft, lock)
    return true
  } catch (error) {
    // A draft that is gone was taken for abandoned.
    if (hasCode(error, 'EEXIST', 'ENOENT')) return false
    throw error
  }
}

const isSame = (a: BigIntStats, b: BigIntStats): boolean =>
  a.ino === b.ino && a.size === b.size && a.mtimeNs === b.mtimeNs

/** Drafts that were left, and the lock if one of them took it. */
async function removeAbandoned(dir: string): Promise<void> {
  const names = (await readdir(dir)).filter((name) => name.startsWith(DRAFT))
  if (names.length === 0) return
  const lock = join(dir, 'config.lock')
  const held = await lstatIfThere(lock)
  for (const name of names) {
    const draft = join(dir, name)
    const found = await lstatIfThere(draft)
    if (!found || found.ctimeMs > Date.now() - ABANDONED_AFTER_MS) continue
    if (found.ino === held?.ino) await rm(lock, { force: true })
    await rm(draft, { force: true })
  }
}

async function lstatIfThere(path: string) {
  return lstat(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  })
}
