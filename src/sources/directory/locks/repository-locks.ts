import type { Git } from '../../../git/git.ts'
import { hasCode } from '../../../lib/errno.ts'
import { Unreadable } from '../../unreadable.ts'
import { asUnreadable, orUnreadable } from '../files/why-unreadable.ts'
import {
  hasConfig,
  isRepository,
  type RepositoryDirectory,
  wikiOf,
} from '../repository-directory.ts'
import { holdsPushLock, settlePushLock, whyNoLock } from './push-lock.ts'

/** Of a repository and its wiki. */
export async function checkPushLocks(
  git: Git,
  { dir, wikiDir }: RepositoryDirectory,
): Promise<void> {
  for (const part of wikiDir === null ? [dir] : [dir, wikiDir]) {
    const why = await orUnreadable(part, undefined, () => whyNoLock(git, part))
    if (why !== undefined) throw new Unreadable(why)
  }
}

export async function hasPushLock(git: Git, { dir }: RepositoryDirectory): Promise<boolean> {
  for (const part of [dir, wikiOf(dir)]) {
    const isLocked = async () => (await hasConfig(part)) && (await holdsPushLock(git, part))
    if (await orUnreadable(part, undefined, isLocked)) return true
  }
  return false
}

export async function settlePushLocks(
  git: Git,
  { dir }: RepositoryDirectory,
  isWanted: () => Promise<boolean>,
): Promise<void> {
  await settlePart(git, dir, isWanted)
  const wiki = wikiOf(dir)
  if (!(await orUnreadable(wiki, undefined, () => hasConfig(wiki)))) return
  // A wiki that is none takes no pushes; a lock that it had before it was damaged is taken off all the same.
  await settlePart(git, wiki, async () => (await isRepository(wiki)) && (await isWanted()))
}

async function settlePart(git: Git, dir: string, isWanted: () => Promise<boolean>): Promise<void> {
  try {
    await settlePushLock(git, dir, isWanted)
  } catch (error) {
    // What has no config has no lock; but what is not there may come back with both.
    const isOpen = hasCode(error, 'ENOENT') && (await isRepository(dir)) && !(await isWanted())
    if (!isOpen) throw asUnreadable(error, dir)
  }
}
