import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { access, constants, link, lstat, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Bytes } from '@godwit/lib/bytes'
import { withWriteContext } from '@godwit/lib/disk-errors'
import { hasCode, ifExists } from '@godwit/lib/errno'
import { UserError } from '@godwit/lib/user-error'

/** Throws if the file exists (without `force`) or cannot be created. Call it before the bytes are produced. */
export async function refuseExistingFile(file: string, force: boolean): Promise<void> {
  await requireWritableDirectory(dirname(file), file)
  const existing = await ifExists(lstat(file), 'ENOENT')
  if (existing && !existing.isFile())
    throw new UserError(`${file} exists and is not a regular file`)
  if (existing && !force) throw new UserError(`${file} exists already; use --force to replace it`)
}

/** Throws an error that names `file`, which is to be written to the directory: temporary files there mean nothing to the user. */
export async function requireWritableDirectory(directory: string, file: string): Promise<void> {
  try {
    const folder = await ifExists(stat(directory), 'ENOENT', 'ENOTDIR')
    if (!folder?.isDirectory()) throw new UserError(`directory ${directory} does not exist`)
    await access(directory, constants.W_OK | constants.X_OK)
  } catch (error) {
    if (!hasCode(error, 'EACCES', 'EPERM')) throw error
    throw new UserError(`cannot write ${file}: this user may not create files in ${directory}`, {
      cause: error,
    })
  }
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
  if (force) await rename(from, to)
  else {
    // Unlike a rename, a link never replaces a file that was created in the meantime. Some file systems have no links.
    await link(from, to).catch((error: unknown) => {
      if (hasCode(error, 'EEXIST')) throw new UserError(`${to} exists already`)
      return rename(from, to)
    })
  }
  await rm(from, { force: true })
  await using folder = await open(dirname(to))
  await folder.sync()
}
