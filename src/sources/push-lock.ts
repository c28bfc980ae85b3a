import { chown, lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Git } from './git.ts'
import { GitFailed } from './git-end.ts'
import { Unreadable } from './source.ts'
import { codeOf } from './unreadable.ts'

/**
 * Git trims the slash, so the value hides every ref from pushes; that it is spelt with one marks it as ours, to be told
 * from what the host hides for reasons of its own.
 */
const OURS = 'refs/'
const EXACTLY_OURS = '^refs/$'
const KEY = 'receive.hideRefs'

const NOTHING_TO_UNSET = 5
const HELD_BY_ANOTHER = /could not lock config file .*: File exists/
const FIRST_WAIT_MS = 10
const LONGEST_WAIT_MS = 10_000

/** From here on receive-pack refuses every push; fetches go on, and a push that is under way may still land. */
export async function lockPushes(git: Git, dir: string): Promise<void> {
  await edit(git, dir, ['--replace-all', KEY, OURS, EXACTLY_OURS])
  if (await isPushLocked(git, dir)) return
  throw new Unreadable('it cannot be locked: its config opens refs again that the lock closes')
}

/** A repository that is not locked, or is gone, needs no unlocking. */
export async function unlockPushes(git: Git, dir: string): Promise<void> {
  try {
    await edit(git, dir, ['--unset-all', KEY, EXACTLY_OURS])
  } catch (error) {
    if (error instanceof GitFailed && error.exitCode === NOTHING_TO_UNSET) return
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

/** Whether our value is there and no later one takes refs out of it again, as `!refs/heads/open` would. */
export async function isPushLocked(git: Git, dir: string): Promise<boolean> {
  const pattern = '^(receive|transfer)\\.hiderefs$'
  const args = ['config', '--file', join(dir, 'config'), '--no-includes', '-z', '--get-regexp']
  const listed = await git.text([...args, pattern]).catch((error: unknown) => {
    if (error instanceof GitFailed && error.exitCode === 1) return ''
    throw error
  })
  const settings = listed.split('\0')
  const ours = settings.lastIndexOf(`receive.hiderefs\n${OURS}`)
  return ours !== -1 && !settings.slice(ours).some((setting) => /\n\^?!/.test(setting))
}

/** Through git, whose lock file keeps it apart from other edits; while another holds that, we wait our turn. */
async function edit(git: Git, dir: string, change: readonly string[]): Promise<void> {
  const file = join(dir, 'config')
  const before = await lstat(file)
  // Git would follow a link and write to whatever it leads to.
  if (!before.isFile()) throw new Unreadable('its config is not a file of its own')
  const args = ['config', '--file', file, ...change]
  for (let wait = FIRST_WAIT_MS, waited = 0; ; waited += wait, wait *= 2) {
    try {
      await git.run(args)
      break
    } catch (error) {
      const isHeld = error instanceof GitFailed && HELD_BY_ANOTHER.test(error.said)
      if (!isHeld || waited + wait > LONGEST_WAIT_MS) throw error
      await pause(wait)
    }
  }
  await keepOwner(file, before)
}

/** Git writes the file anew, as ours: under root the host's own user could be shut out of its config. */
async function keepOwner(file: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  const now = await lstat(file)
  if (now.uid !== uid || now.gid !== gid) await chown(file, uid, gid)
}
