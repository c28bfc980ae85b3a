import { randomUUID } from 'node:crypto'
import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'
import { orUnreadable, toUnreadable } from '@godwit/git/files/repository-errors'
import { plainSettings } from '@godwit/git/files/repository-settings'
import { refuseSpecialConfig } from '@godwit/git/files/special-files'
import { lstatIfExists } from '@godwit/git/files/sync-fs'
import type { Git, GitCall } from '@godwit/git/git'
import { RepositoryBusy, Unreadable } from '@godwit/git/unreadable'
import { codeOf, hasCode } from '@godwit/lib/errno'
import {
  gitDirectoriesOf,
  hasConfig,
  isRepository,
  type RepositoryDirectory,
  wikiOf,
} from '../repository-directory.ts'
import { editConfig, isPathTooLong, livenessName, readConfig } from './edit-config.ts'

/** Rejects with Unreadable if a lock on the repository or its wiki would not prevent pushes. */
export async function checkPushLocks(git: Git, directory: RepositoryDirectory): Promise<void> {
  for (const dir of gitDirectoriesOf(directory)) {
    const problem = await orUnreadable({ dir }, undefined, () => lockProblem(git, dir))
    if (problem !== undefined) throw new Unreadable(problem)
  }
}

/** Whether the config of the repository or of its wiki has our lock. Rejects with Unreadable. */
export async function hasPushLock(git: Git, { dir }: RepositoryDirectory): Promise<boolean> {
  for (const part of [dir, wikiOf(dir)]) {
    const check = async () => (await hasConfig(part)) && (await isLocked(git, part))
    if (await orUnreadable({ dir: part }, undefined, check)) return true
  }
  return false
}

/** Locks or unlocks a repository and its wiki, as `isWanted` says. Rejects with Unreadable or RepositoryBusy. */
export async function reconcilePushLocks(
  git: Git,
  { dir }: RepositoryDirectory,
  isWanted: () => Promise<boolean>,
): Promise<void> {
  await reconcileOne(git, dir, isWanted)
  const wiki = wikiOf(dir)
  if (!(await orUnreadable({ dir: wiki }, undefined, () => hasConfig(wiki)))) return
  // A damaged wiki accepts no pushes and is not locked, but a lock that was set before the damage is removed.
  await reconcileOne(git, wiki, async () => (await isRepository(wiki)) && (await isWanted()))
}

async function reconcileOne(
  git: Git,
  dir: string,
  isWanted: () => Promise<boolean>,
): Promise<void> {
  try {
    await reconcilePushLock(git, dir, isWanted)
  } catch (error) {
    // A repository without a config is unlocked. A missing repository may come back with a config and a lock.
    const isUnlocked = hasCode(error, 'ENOENT') && (await isRepository(dir)) && !(await isWanted())
    if (!isUnlocked) throw toUnreadable(error, { dir })
  }
}

const HIDE_REFS_KEYS = '^(receive|transfer)\\.hiderefs$'
/** Matches a value that unhides refs, such as `!refs/heads/open`. */
const UNHIDES = /^\^?!/
/** An attempt fails if another program reverts the edit at the same time. */
const MAX_ATTEMPTS = 20

/**
 * Locks or unlocks one repository. `git receive-pack` refuses every push to a locked repository; fetches still work, and a push that
 * has already begun may succeed. `isWanted` is called while nobody else can change the config, so the last edit always leaves the wanted
 * state.
 */
export async function reconcilePushLock(
  git: Git,
  dir: string,
  isWanted: () => Promise<boolean>,
): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const wanted = await isWanted()
    const isDone = await editConfig(dir, {
      change: (config) => changeLock(git, config, wanted),
      isStillWanted: async () => (await isWanted()) === wanted,
    })
    if (!isDone) continue
    if (!wanted) return
    const state = await readLockState(git, dir)
    if (state === 'locked') return
    // Another process has unlocked it since the edit.
    if (!(await isWanted()) || state === 'open') continue
    throw new Unreadable('its config shows refs again that the lock hides')
  }
  throw new RepositoryBusy('other programs keep changing its config, or git reads another config')
}

/**
 * Reads the lock as `git receive-pack` does, with includes and the settings of a worktree. A repository is reopened if a value after
 * the lock unhides some refs.
 */
export async function readLockState(
  git: Git,
  dir: string,
): Promise<'locked' | 'reopened' | 'open'> {
  await refuseSpecialConfig({ dir }, { git })
  const settings = await runGitConfig(git, ['--get-regexp', HIDE_REFS_KEYS], { dir })
  const ours = settings.lastIndexOf(OUR_SETTING)
  if (ours === -1) return 'open'
  return settings.slice(ours).some((setting) => UNHIDES.test(settingValue(setting)))
    ? 'reopened'
    : 'locked'
}

async function isLocked(git: Git, dir: string): Promise<boolean> {
  const { bytes } = await readConfig(dir)
  if (!/hiderefs/i.test(bytes.toString('latin1'))) return false
  return (await parseConfig(git, bytes)).includes(OUR_SETTING)
}

/** Returns why a lock would not prevent pushes; undefined if no reason is known. */
export async function lockProblem(git: Git, dir: string): Promise<string | undefined> {
  if (isPathTooLong(join(dir, livenessName(randomUUID())))) return 'its path is too long for a lock'
  const config = await lstatIfExists(join(dir, 'config'))
  if (!config?.isFile()) return 'its config is not a regular file'
  try {
    await access(dir, constants.W_OK)
  } catch (error) {
    return `its directory cannot be written to (${codeOf(error)})`
  }
  // The lock is at the end of the config, so only the worktree's config, which git reads later, can unhide refs.
  await refuseSpecialConfig({ dir }, { git })
  const args = ['--show-scope', '--get-regexp', HIDE_REFS_KEYS]
  const output = await runGitConfig(git, args, { dir })
  const reopens = output.some(
    (setting, i) => output[i - 1] === 'worktree' && UNHIDES.test(settingValue(setting)),
  )
  return reopens ? 'its config.worktree shows refs again that a lock hides' : undefined
}

const settingValue = (setting: string): string => setting.slice(setting.indexOf('\n') + 1)

/** Returns the changed config, or undefined if nothing changes. Checks that no other setting changes with it. */
async function changeLock(git: Git, config: Buffer, wanted: boolean): Promise<Buffer | undefined> {
  const text = config.toString('latin1')
  const changed = wanted ? withLock(text) : withoutLock(text)
  // The state of a locked repository is checked after the edit.
  if (changed === text && (wanted || !/hiderefs/i.test(text))) return undefined
  const after = Buffer.from(changed, 'latin1')
  const [had, has] = await Promise.all([parseConfig(git, config), parseConfig(git, after)])
  const others = had.filter((setting) => setting !== OUR_SETTING)
  const expected = wanted ? [...others, OUR_SETTING] : others
  if (has.length !== expected.length || has.some((setting, i) => setting !== expected[i])) {
    throw new Unreadable('its config cannot be changed without changing other settings')
  }
  return changed === text ? undefined : after
}

/** Returns the settings as `git config --list -z` prints them. Git parses only a config that `plainSettings` cannot parse. */
async function parseConfig(git: Git, config: Buffer): Promise<string[]> {
  const plain = plainSettings(config.toString('latin1'))
  if (plain) return plain.map((each) => each.join('\n'))
  return runGitConfig(git, ['--file', '-', '--no-includes', '--list'], { input: config })
}

async function runGitConfig(git: Git, args: readonly string[], call: GitCall): Promise<string[]> {
  const output = await git.run(['config', '-z', ...args], { ...call, mayFindNothing: true })
  return output.toString('latin1').split('\0').slice(0, -1)
}

/**
 * The lock in the text of a config. Git ignores the final slash, so this hides every ref from pushes; the slash distinguishes our value
 * from the host's own. The text is a byte string (latin1), of which nothing else is parsed or changed.
 */
const BLOCK = '[receive]\n\thideRefs = refs/'
const AT_END = /(?:^|\n)\[receive\]\n\thideRefs = refs\/\n?$/
const AT_END_OF_A_LAST_LINE = /(?:^|\n)\[receive\]\n\thideRefs = refs\/$/
const WHOLE_SECTION = /(^|\n)\[receive\]\n\thideRefs = refs\/\n(?=[ \t]*\[|$)/g
const LINE = /^[ \t]*hiderefs[ \t]*=[ \t]*refs\/[ \t]*\r?\n?$/i
const SECTION = /^[ \t]*\[([^\]]*)\]/

/** As `git config --list -z` prints it. */
const OUR_SETTING = 'receive.hiderefs\nrefs/'

/** Adds the lock at the end, after all other settings and includes. A last line without a newline stays without one. */
function withLock(config: string): string {
  if (AT_END.test(config)) return config
  const unlocked = withoutLock(config)
  return unlocked === '' || unlocked.endsWith('\n')
    ? `${unlocked}${BLOCK}\n`
    : `${unlocked}\n${BLOCK}`
}

function withoutLock(config: string): string {
  const rest = config.replace(AT_END_OF_A_LAST_LINE, '').replace(WHOLE_SECTION, '$1')
  // A single line is left if the host has added to our section, or git has moved our value to another section.
  let isReceive = false
  const lines = rest.split(/(?<=\n)/).filter((line) => {
    const section = SECTION.exec(line)?.[1]
    if (section !== undefined) isReceive = section.trim().toLowerCase() === 'receive'
    return !(isReceive && LINE.test(line))
  })
  return lines.join('')
}
