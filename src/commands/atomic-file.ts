import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { link, lstat, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Bytes } from '../blobs/blob-store.ts'
import { withWriteContext } from '../lib/disk-errors.ts'
import { hasCode } from '../lib/errno.ts'
import { UserError } from '../lib/user-error.ts'

/** Throws if the file exists (without `force`) or its directory does not. Call it before the bytes are produced. */
export async function refuseExistingFile(file: string, force: boolean): Promise<void> {
  const folder = await stat(dirname(file)).catch(() => undefined)
  if (!folder?.isDirectory()) throw new UserError(`directory ${dirname(file)} does not exist`)
  const existing = await lstat(file).catch(() => undefined)
  if (existing && !existing.isFile())
    throw new UserError(`${file} exists and is not a regular file`)
  if (existing && !force) throw new UserError(`${file} exists already; use --force to replace it`)
}

interface WriteOptions {
  /** Whether an existing file is replaced. */
  force: boolean
  signal?: AbortSignal
  /** The size, if known, for the message of a full disk. */
  length?: number
}

/** Writes a file atomically and durably: under a temporary name, which is then renamed. */
export async function writeFileAtomically(
  file: string,
  bytes: Bytes,
  { force, signal, length }: WriteOptions,
): Promise<void> {
  const folder = dirname(file)
  const unfinished = join(folder, `.${basename(file)}.${randomUUID()}`)
  try {
    // Other users of this machine must not read an archive.
    const written = createWriteStream(unfinished, { flags: 'wx', mode: 0o600, flush: true })
    await withWriteContext(
      file,
      () => pipeline(bytes, written, { ...(signal && { signal }) }),
      length,
    )
    await moveIntoPlace(unfinished, file, force)
  } finally {
    await rm(unfinished, { force: true })
  }
}

/** Renames a finished file and flushes the directory. */
export async function moveIntoPlace(from: string, to: string, force: boolean): Promise<void> {
  await refuseExistingFile(to, force)
  await (force ? rename(from, to) : linkOrMove(from, to))
  await rm(from, { force: true })
  await using folder = await open(dirname(to))
  await folder.sync()
}

/** Unlike a rename, a link never replaces a file that was created in the meantime. Some file systems have no links. */
async function linkOrMove(from: string, to: string): Promise<void> {
  await link(from, to).catch(async (error: unknown) => {
    if (hasCode(error, 'EEXIST')) throw new UserError(`${to} exists already`)
    await rename(from, to)
  })
}
