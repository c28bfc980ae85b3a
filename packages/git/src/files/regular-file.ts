import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { codeOf, hasCode } from '@godwit/lib/errno'
import { Unsupported } from './repository-errors.ts'
import { lstatIfExists, syncFs } from './sync-fs.ts'

/** A repository's directory. Errors begin with the name of the repository, if it is given. */
export interface Repository {
  dir: string
  name?: string | undefined
}

export interface NamedDirectory extends Repository {
  name: string
}

/** packed-refs of this size holds about a million refs, which take 1.5 GB of memory. Other text files are far smaller. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024

interface TextOptions {
  maxBytes?: number
  /** The name of the file in errors. Default: its path. */
  label?: string
}

/**
 * Reads a file of a repository as a byte string (latin1); `path` is a byte string too. Returns undefined if the file does not exist.
 * Throws Unsupported for anything but a regular file of at most `maxBytes`.
 */
export async function readText(
  directory: Repository,
  path: string,
  options?: TextOptions,
): Promise<string | undefined> {
  // Most repositories lack most of these files, and an exception costs more than this call.
  return (
    (await lstatIfExists(bytePath(directory, path))) && readListedText(directory, path, options)
  )
}

/**
 * Reads a file that was found in its directory, without the lstat of `readText`. Returns undefined if it was deleted since; fails as
 * `readText` does.
 */
export async function readListedText(
  directory: Repository,
  path: string,
  { maxBytes = MAX_TEXT_BYTES, label = path }: TextOptions = {},
): Promise<string | undefined> {
  try {
    return (await readRegularFile(bytePath(directory, path), maxBytes)).toString('latin1')
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP')
      throw new Unsupported(directory.name, `${label} is not a regular file`, error)
    if (code === 'EFBIG') throw new Unsupported(directory.name, `${label} is too large`, error)
    throw error
  }
}

/** Returns the path of a file whose name is a byte string (latin1). */
export function bytePath(directory: Repository, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${directory.dir}/`), Buffer.from(path, 'latin1')])
}

/** Reads at most `maxBytes` from the beginning of a file. Fails as `openRegularFile` does. */
export const readFileStart = syncFs((path: string, maxBytes: number): Buffer => {
  using file = openRegularFile(path)
  return file.read(0, maxBytes)
})

/** Reads a complete file. Fails with EFBIG if it is larger than `maxBytes`, otherwise as `openRegularFile` does. */
export const readRegularFile = syncFs((path: string | Buffer, maxBytes: number): Buffer => {
  using file = openRegularFile(path)
  if (file.size > maxBytes) throw fileError('EFBIG', `${file.size} bytes`)
  return file.read(0, file.size)
})

/** Reads the beginning of a file, as much as `into` can hold. Fails for a link; a pipe does not block. */
export function readInto(path: string, into: Buffer): Buffer {
  const file = openWithoutBlocking(path)
  try {
    return into.subarray(0, readSync(file, into, 0, into.length, 0))
  } finally {
    closeSync(file)
  }
}

/** An open file for random access. */
export interface RegularFile extends Disposable {
  size: number
  /** Returns fewer bytes at the end of the file. They are in `into` if it is given and the file is on disk. */
  read(position: number, length: number, into?: Buffer): Buffer
}

/**
 * Fails with ELOOP for a symbolic link, with which a repository could show any file of this machine, and for pipes, sockets and
 * devices, which could block the process forever.
 */
export function openRegularFile(path: string | Buffer): RegularFile {
  const file = openWithoutBlocking(path)
  try {
    const stats = fstatSync(file)
    if (stats.isDirectory()) throw fileError('EISDIR', 'a directory')
    if (!stats.isFile()) throw fileError('ELOOP', 'not a file')
    const { size } = stats
    return {
      size,
      read(position, length, into) {
        const available = Math.max(0, Math.min(length, size - position))
        const buffer = into ?? Buffer.allocUnsafe(available)
        return buffer.subarray(0, readSync(file, buffer, 0, available, position))
      },
      [Symbol.dispose]: () => closeSync(file),
    }
  } catch (error) {
    closeSync(file)
    throw error
  }
}

/** Returns bytes in memory as a file. */
export const memoryFile = (bytes: Buffer): RegularFile => ({
  size: bytes.length,
  read: (position, length) => bytes.subarray(Math.max(position, 0), Math.max(position + length, 0)),
  [Symbol.dispose]: () => {},
})

/** Flags to open a file that may have been replaced by a link, which could point to any file, or by a pipe, which could block. */
export const READ_REGULAR = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

function openWithoutBlocking(path: string | Buffer): number {
  try {
    return openSync(path, READ_REGULAR)
  } catch (error) {
    // ENXIO is the code for a socket.
    throw hasCode(error, 'ENXIO') ? fileError('ELOOP', 'not a file') : error
  }
}

function fileError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
