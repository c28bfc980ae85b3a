import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  type Stats,
} from 'node:fs'
import { hasCode } from '../../../lib/errno.ts'
import { syncFs } from './sync-fs.ts'

/** The beginning of it. */
export const readSmallFile = syncFs(
  (path: string, limit: number): Buffer =>
    withOwnFile(path, (file) => {
      const buffer = Buffer.alloc(limit)
      return buffer.subarray(0, readSync(file, buffer, 0, limit, 0))
    }),
)

/** All of it; one that is larger than it should be is refused (EFBIG) rather than read into memory. */
export const readOwnFile = syncFs(
  (path: Buffer, largest: number): Buffer =>
    withOwnFile(path, (file, { size }) => {
      if (size > largest) throw refusal('EFBIG', `${size} bytes`)
      return readFileSync(file)
    }),
)

/** One that stays open, to be read here and there. */
export interface OwnFile {
  size: number
  /** As much of it as is there. */
  read(at: number, length: number): Buffer
  close(): void
}

export function openOwnFile(path: string): OwnFile {
  const file = openOwn(path)
  try {
    const { size } = ownStats(file)
    return {
      size,
      read(at, length) {
        const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - at)))
        return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, at))
      },
      close: () => closeSync(file),
    }
  } catch (error) {
    closeSync(file)
    throw error
  }
}

/**
 * Files inside a repository. Links are refused (ELOOP), or a repository could show any file of this machine; so is what is
 * no file, or a pipe could hold us for ever.
 */
function withOwnFile<T>(path: string | Buffer, use: (file: number, stats: Stats) => T): T {
  const file = openOwn(path)
  try {
    return use(file, ownStats(file))
  } finally {
    closeSync(file)
  }
}

function ownStats(file: number): Stats {
  const stats = fstatSync(file)
  if (stats.isFile()) return stats
  throw stats.isDirectory() ? refusal('EISDIR', 'a directory') : refusal('ELOOP', 'not a file')
}

function openOwn(path: string | Buffer): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    // A socket cannot be opened at all.
    throw hasCode(error, 'ENXIO') ? refusal('ELOOP', 'not a file') : error
  }
}

function refusal(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
