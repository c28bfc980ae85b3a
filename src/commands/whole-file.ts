import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { link, lstat, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Bytes } from '../blobs/blob-store.ts'
import { writingTo } from '../lib/disk-errors.ts'
import { hasCode } from '../lib/errno.ts'
import { UserError } from '../lib/user-error.ts'

export interface WholeFileOptions {
  /** Whether a file that is there may be replaced. */
  force: boolean
  signal: AbortSignal
  /** How many bytes there are, where that is known: said where the disk is full. */
  length?: number
}

/** Said before the work rather than after it. */
export async function refuseExistingFile(file: string, force: boolean): Promise<void> {
  const folder = await stat(dirname(file)).catch(() => undefined)
  if (!folder?.isDirectory()) throw new UserError(`directory ${dirname(file)} does not exist`)
  const there = await lstat(file).catch(() => undefined)
  if (there && !there.isFile()) throw new UserError(`${file} exists and is not a regular file`)
  if (there && !force) throw new UserError(`${file} exists already; use --force to replace it`)
}

/** The file appears whole and durable, or not at all. */
export async function writeWholeFile(
  file: string,
  bytes: Bytes,
  { force, signal, length }: WholeFileOptions,
): Promise<void> {
  const folder = dirname(file)
  const unfinished = join(folder, `.${basename(file)}.${randomUUID()}`)
  try {
    // An archive may hold what others on this machine must not read.
    const written = createWriteStream(unfinished, { flags: 'wx', mode: 0o600, flush: true })
    await writingTo(file, () => pipeline(bytes, written, { signal }), length)
    await moveIntoPlace(unfinished, file, force)
  } finally {
    await rm(unfinished, { force: true })
  }
}

/** Gives a finished file its name, for good. */
export async function moveIntoPlace(from: string, to: string, force: boolean): Promise<void> {
  await refuseExistingFile(to, force)
  await (force ? rename(from, to) : linkOrMove(from, to))
  await rm(from, { force: true })
  await using folder = await open(dirname(to))
  await folder.sync()
}

/** Unlike a rename, a link never replaces what came meanwhile; not every file system has links. */
async function linkOrMove(from: string, to: string): Promise<void> {
  await link(from, to).catch(async (error: unknown) => {
    if (hasCode(error, 'EEXIST')) throw new UserError(`${to} exists already`)
    await rename(from, to)
  })
}
