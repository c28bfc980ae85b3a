import { join } from 'node:path'
import type { Git } from '../../../git/git.ts'
import { GitFailed } from '../../../git/git-end.ts'
import { hasCode } from '../../../ground/errno.ts'
import { Unreadable } from '../../unreadable.ts'
import { editConfig } from './edit-config.ts'

/**
 * Git trims the slash, so the value hides every ref from pushes; that it is spelt with one marks it as ours, to be told
 * from what the host hides for reasons of its own.
 */
const OURS = 'refs/'
const EXACTLY_OURS = '^refs/$'
const KEY = 'receive.hideRefs'

const NOTHING_TO_UNSET = 5

/** From here on receive-pack refuses every push; fetches go on, and a push that is under way may still land. */
export async function lockPushes(git: Git, dir: string): Promise<void> {
  await editConfig(git, dir, ['--replace-all', KEY, OURS, EXACTLY_OURS])
  if (await isPushLocked(git, dir)) return
  throw new Unreadable('it cannot be locked: its config opens refs again that the lock closes')
}

/** A repository that is not locked, or is gone, needs no unlocking. */
export async function unlockPushes(git: Git, dir: string): Promise<void> {
  try {
    await editConfig(git, dir, ['--unset-all', KEY, EXACTLY_OURS])
  } catch (error) {
    if (error instanceof GitFailed && error.exitCode === NOTHING_TO_UNSET) return
    if (!hasCode(error, 'ENOENT')) throw error
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
