import { randomUUID } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { constants, link, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writingTo } from '../../../lib/disk-errors.ts'
import { hasCode } from '../../../lib/errno.ts'
import { Unreadable } from '../../unreadable.ts'
import { LARGEST_CONFIG } from '../files/repository-settings.ts'
import {
  draftName,
  exactLstatIfThere,
  holdSign,
  removeAbandoned,
  signName,
} from './abandoned-edits.ts'
import { ConfigLock, type LockTimeouts } from './config-lock.ts'

export interface ConfigEdit {
  /** What the config is to become, proven; undefined where it is so already. */
  change(config: Buffer): Promise<Buffer | undefined>
  /** Asked while nobody else can change the config: where it says no, the config stays as it is. */
  isStillRight(): Promise<boolean>
}

/**
 * Replaces a repository's config, in turn with git and with every other Godwit that reaches the directory: see
 * docs/decisions/0008. False where the edit is not right any more.
 */
export async function editConfig(
  dir: string,
  edit: ConfigEdit,
  timeouts: Partial<LockTimeouts> = {},
): Promise<boolean> {
  const turn = new ConfigLock(join(dir, 'config.lock'), timeouts)
  for (;;) {
    await removeAbandoned(dir)
    const isRight = await tryToEdit(dir, edit, turn)
    if (isRight !== undefined) return isRight
    await turn.waitForNext()
  }
}

/** Undefined where another holds the config, or changed it meanwhile, or the last question was not answered in time. */
async function tryToEdit(
  dir: string,
  edit: ConfigEdit,
  turn: ConfigLock,
): Promise<boolean | undefined> {
  // Whoever holds it may be about to change what we would take for settled.
  if (await exactLstatIfThere(join(dir, 'config.lock'))) return undefined
  const before = await readOwnConfig(dir)
  const after = await edit.change(before.bytes)
  if (!after) return true
  const id = randomUUID()
  await using sign = await holdSign(join(dir, signName(id)))
  if (!sign) return undefined
  const draft = join(dir, draftName(id))
  try {
    await writingTo(draft, () => writeDraft(draft, after, before.stats))
    return await putInPlace(dir, draft, before, () => turn.answerOf(edit.isStillRight()))
  } finally {
    await rm(draft, { force: true })
  }
}

interface Config {
  bytes: Buffer
  stats: BigIntStats
}

export async function readOwnConfig(dir: string): Promise<Config> {
  const path = join(dir, 'config')
  // A link could lead to anybody's file, a pipe would be waited for, and a socket cannot be opened (ENXIO).
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  await using file = await open(path, flags).catch((error: unknown) => {
    throw hasCode(error, 'ELOOP', 'ENXIO') ? notOwn() : error
  })
  const stats = await file.stat({ bigint: true })
  if (!stats.isFile()) throw notOwn()
  if (stats.size > LARGEST_CONFIG) throw new Unreadable('its config is too large')
  return { bytes: await file.readFile(), stats }
}

const notOwn = () => new Unreadable('its config is not a file of its own')

/** On disk for certain, and as before the host's own: under root its user could be shut out of its config. */
async function writeDraft(path: string, bytes: Buffer, { uid, gid, mode }: BigIntStats) {
  await using file = await open(path, 'wx', 0o600)
  await file.writeFile(bytes)
  const now = await file.stat({ bigint: true })
  if (now.uid !== uid || now.gid !== gid) await file.chown(Number(uid), Number(gid))
  await file.chmod(Number(mode & 0o7777n))
  await file.sync()
}

/** As git does it: `config.lock` can be made by one alone, and becomes the config by being renamed. */
async function putInPlace(
  dir: string,
  draft: string,
  before: Config,
  isStillRight: () => Promise<boolean | undefined>,
): Promise<boolean | undefined> {
  const lock = join(dir, 'config.lock')
  if (!(await linkUnlessHeld(draft, lock))) return undefined
  try {
    const isRight = await isStillRight()
    if (!isRight) return isRight
    if (!isSame(before, await readOwnConfig(dir)) || !(await isOwn(lock, draft))) return undefined
    await rename(lock, join(dir, 'config'))
  } finally {
    // Unless it has become the config it is ours, and nobody else's to remove while our sign of life is held.
    if (await isOwn(lock, draft)) await rm(lock, { force: true })
  }
  await using folder = await open(dir)
  await folder.sync()
  return true
}

const isSame = (a: Config, b: Config): boolean =>
  a.stats.ino === b.stats.ino && a.stats.ctimeNs === b.stats.ctimeNs && a.bytes.equals(b.bytes)

async function linkUnlessHeld(draft: string, lock: string): Promise<boolean> {
  try {
    await link(draft, lock)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}

async function isOwn(lock: string, draft: string): Promise<boolean> {
  const held = await exactLstatIfThere(lock)
  return held !== undefined && held.ino === (await exactLstatIfThere(draft))?.ino
}
