import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  type Stats,
} from 'node:fs'
import { codeOf, hasCode } from '../../../lib/errno.ts'
import { Unsupported } from './repository-errors.ts'
import { syncFs } from './sync-fs.ts'

/** A repository's directory, and the name that messages give the repository. */
export interface NamedDirectory {
  dir: string
  name: string
}

/** packed-refs of this size holds about a million refs, which take 1.5 GB of memory. Other text files are far smaller. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024

/**
 * Reads a file of a repository as a byte string (latin1); `path` is one too. Returns undefined where there is no file. Throws
 * Unsupported for anything but a regular file of at most `maxBytes`.
 */
export async function readText(
  at: NamedDirectory,
  path: string,
  maxBytes = MAX_TEXT_BYTES,
): Promise<string | undefined> {
  try {
    const file = Buffer.concat([Buffer.from(`${at.dir}/`), Buffer.from(path, 'latin1')])
    return (await readRegularFile(file, maxBytes)).toString('latin1')
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP') throw new Unsupported(at.name, `${path} is not a file of its own`, error)
    if (code === 'EFBIG') throw new Unsupported(at.name, `${path} is too large`, error)
    throw error
  }
}

/** Reads at most `maxBytes` from the beginning of a file. Fails as `openRegular` does. */
export const readFileStart = syncFs(
  (path: string, maxBytes: number): Buffer =>
    withRegularFile(path, (file) => {
      const buffer = Buffer.alloc(maxBytes)
      return buffer.subarray(0, readSync(file, buffer, 0, maxBytes, 0))
    }),
)

/** Reads a whole file. Fails with EFBIG where it is larger than `maxBytes`, otherwise as `openRegular` does. */
export const readRegularFile = syncFs(
  (path: string | Buffer, maxBytes: number): Buffer =>
    withRegularFile(path, (file, { size }) => {
      if (size > maxBytes) throw fileError('EFBIG', `${size} bytes`)
      return readFileSync(file)
    }),
)

/** An open file for random access. */
export interface RegularFile {
  size: number
  /** Returns fewer bytes at the end of the file. */
  read(position: number, length: number): Buffer
  close(): void
}

export function openRegularFile(path: string): RegularFile {
  const file = openRegular(path)
  try {
    const { size } = regularStats(file)
    return {
      size,
      read(position, length) {
        const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - position)))
        return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, position))
      },
      close: () => closeSync(file),
    }
  } catch (error) {
    closeSync(file)
    throw error
  }
}

function withRegularFile<T>(path: string | Buffer, use: (file: number, stats: Stats) => T): T {
  const file = openRegular(path)
  try {
    return use(file, regularStats(file))
  } finally {
    closeSync(file)
  }
}

/**
 * Symbolic links fail with ELOOP: a repository could show any file of this machine. So do pipes, sockets and devices, which could
 * block the process forever.
 */
function openRegular(path: string | Buffer): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    // The code for a socket.
    throw hasCode(error, 'ENXIO') ? fileError('ELOOP', 'not a file') : error
  }
}

function regularStats(file: number): Stats {
  const stats = fstatSync(file)
  if (stats.isFile()) return stats
  throw stats.isDirectory() ? fileError('EISDIR', 'a directory') : fileError('ELOOP', 'not a file')
}

function fileError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
