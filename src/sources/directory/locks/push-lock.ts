import { randomUUID } from 'node:crypto'
import { access, constants, lstat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git, GitCall } from '../../../git/git.ts'
import { GitFailed } from '../../../git/git-end.ts'
import { codeOf } from '../../../lib/errno.ts'
import { Busy, Unreadable } from '../../unreadable.ts'
import { refuseSpecialConfig } from '../files/special-files.ts'
import { isTooLong, signName } from './abandoned-edits.ts'
import { editConfig, readOwnConfig } from './edit-config.ts'

const SETTINGS_THAT_HIDE = '^(receive|transfer)\\.hiderefs$'
const REOPENS = /^\^?!/
/** Each time another has changed it back meanwhile. */
const MAX_TRIES = 20

/**
 * Locked, receive-pack refuses every push; fetches go on, and a push that is under way may still land. `isWanted` is asked
 * while nobody else can change the config, so that whoever acts last acts on what is so.
 */
export async function settlePushLock(
  git: Git,
  dir: string,
  isWanted: () => Promise<boolean>,
): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const wanted = await isWanted()
    const isDone = await editConfig(dir, {
      change: (config) => provenChange(git, config, wanted),
      isStillRight: async () => (await isWanted()) === wanted,
    })
    if (!isDone) continue
    if (!wanted) return
    const seen = await asReceivePackSees(git, dir)
    if (seen === 'locked') return
    // Let go of by the last who held it, between the edit and the look.
    if (!(await isWanted()) || seen === 'open') continue
    throw new Unreadable('its config shows refs again that the lock hides')
  }
  throw new Busy('other programs keep changing its config, or git reads another config')
}

/**
 * With what the config includes, and with the settings of a worktree. Reopened is a lock where a later value takes refs out of it
 * again, as `!refs/heads/open` would.
 */
export async function asReceivePackSees(
  git: Git,
  dir: string,
): Promise<'locked' | 'reopened' | 'open'> {
  await refuseSpecialConfig({ dir }, { git })
  const settings = await listed(git, ['--get-regexp', SETTINGS_THAT_HIDE], { dir })
  const ours = settings.lastIndexOf(OUR_SETTING)
  if (ours === -1) return 'open'
  return settings.slice(ours).some((setting) => REOPENS.test(hiddenBy(setting)))
    ? 'reopened'
    : 'locked'
}

/** Whether our value is in the repository's own config. */
export async function holdsPushLock(git: Git, dir: string): Promise<boolean> {
  const { bytes } = await readOwnConfig(dir)
  if (!/hiderefs/i.test(bytes.toString('latin1'))) return false
  return (await settingsIn(git, bytes)).includes(OUR_SETTING)
}

/** Why a lock could not hold; undefined where nothing is known that would be in its way. */
export async function whyNoLock(git: Git, dir: string): Promise<string | undefined> {
  if (isTooLong(join(dir, signName(randomUUID())))) return 'its path is too long for a lock'
  const config = await lstat(join(dir, 'config')).catch(() => undefined)
  if (!config?.isFile()) return 'its config is not a file of its own'
  try {
    await access(dir, constants.W_OK)
  } catch (error) {
    return `its directory cannot be written to (${codeOf(error)})`
  }
  // A lock is the last word of the config; only what is read after the config could take it back.
  await refuseSpecialConfig({ dir }, { git })
  const args = ['--show-scope', '--get-regexp', SETTINGS_THAT_HIDE]
  const told = await listed(git, args, { dir })
  const reopens = told.some(
    (setting, i) => told[i - 1] === 'worktree' && REOPENS.test(hiddenBy(setting)),
  )
  return reopens ? 'its config.worktree shows refs again that a lock hides' : undefined
}

const hiddenBy = (setting: string): string => setting.slice(setting.indexOf('\n') + 1)

/** All that the config held is in its place, but for our value: git itself is asked, of the bytes and not of a file. */
async function provenChange(
  git: Git,
  config: Buffer,
  wanted: boolean,
): Promise<Buffer | undefined> {
  const text = config.toString('latin1')
  const changed = wanted ? withLock(text) : withoutLock(text)
  // What is locked already is looked at afterwards in any case.
  if (changed === text && (wanted || !/hiderefs/i.test(text))) return undefined
  const after = Buffer.from(changed, 'latin1')
  const [had, has] = await Promise.all([settingsIn(git, config), settingsIn(git, after)])
  const others = had.filter((setting) => setting !== OUR_SETTING)
  const expected = wanted ? [...others, OUR_SETTING] : others
  if (has.length !== expected.length || has.some((setting, i) => setting !== expected[i])) {
    throw new Unreadable('its config cannot be changed without changing other settings')
  }
  return changed === text ? undefined : after
}

const settingsIn = (git: Git, config: Buffer): Promise<string[]> =>
  listed(git, ['--file', '-', '--no-includes', '--list'], { input: config })

const NONE = 1

async function listed(git: Git, args: readonly string[], call: GitCall): Promise<string[]> {
  const output = await git.run(['config', '-z', ...args], call).catch((error: unknown) => {
    if (error instanceof GitFailed && error.exitCode === NONE) return Buffer.alloc(0)
    throw error
  })
  return output.toString('latin1').split('\0').slice(0, -1)
}

/**
 * Our value in the text of a config. Git trims the slash, so it hides every ref from pushes; that it is spelt with one marks it
 * as ours, to be told from what the host hides for reasons of its own. Bytes are kept as characters (latin1): nothing else of
 * the config is understood, or changed.
 */
const BLOCK = '[receive]\n\thideRefs = refs/'
const AT_END = /(?:^|\n)\[receive\]\n\thideRefs = refs\/\n?$/
const AT_END_OF_A_LAST_LINE = /(?:^|\n)\[receive\]\n\thideRefs = refs\/$/
const WHOLE_SECTION = /(^|\n)\[receive\]\n\thideRefs = refs\/\n(?=[ \t]*\[|$)/g
const LINE = /^[ \t]*hiderefs[ \t]*=[ \t]*refs\/[ \t]*\r?\n?$/i
const SECTION = /^[ \t]*\[([^\]]*)\]/

/** As `git config --list -z` tells it. */
const OUR_SETTING = 'receive.hiderefs\nrefs/'

/** At the end, where nothing that the config holds or includes comes after it; a last line without an end stays one. */
function withLock(config: string): string {
  if (AT_END.test(config)) return config
  const open = withoutLock(config)
  return open === '' || open.endsWith('\n') ? `${open}${BLOCK}\n` : `${open}\n${BLOCK}`
}

function withoutLock(config: string): string {
  const rest = config.replace(AT_END_OF_A_LAST_LINE, '').replace(WHOLE_SECTION, '$1')
  return withoutLines(rest)
}

/** Where the host has put more into our section since, or git has put our value into the host's. */
function withoutLines(config: string): string {
  let isReceive = false
  const kept = config.split(/(?<=\n)/).filter((line) => {
    const section = SECTION.exec(line)?.[1]
    if (section !== undefined) isReceive = section.trim().toLowerCase() === 'receive'
    return !(isReceive && LINE.test(line))
  })
  return kept.join('')
}
