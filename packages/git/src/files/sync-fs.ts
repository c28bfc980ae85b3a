import {
  type BigIntStats,
  type Dirent,
  lstatSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs'
import { hasCode } from '@godwit/lib/errno'
import { nextTurn } from '@godwit/lib/turns'

/** Some file systems have timestamps of a second: within this time, a directory may change without a new one. */
export const COARSE_TICK_MS = 2000

/**
 * Wraps a synchronous file system call in an async function. Reading a repository takes many small calls, which the kernel serves
 * from its cache in a few microseconds; the same calls through the thread pool take ten times as long. They run on this thread,
 * and let other work of the thread run in between (`nextTurn`).
 */
export function syncFs<A extends unknown[], T>(
  call: (...args: A) => T,
): (...args: A) => Promise<T> {
  return async (...args) => {
    const later = nextTurn()
    if (later) await later
    return call(...args)
  }
}

/** Lets other work of the thread run if nothing else ran for some milliseconds. Await it between synchronous calls. */
export const yieldIfDue = syncFs(() => {})

export const lstat = syncFs((path: string): Stats => lstatSync(path))

/** Returns undefined for ENOENT, which is faster than catching the error of `lstat`. */
export const lstatIfExists = syncFs((path: string | Buffer): Stats | undefined =>
  lstatSync(path, { throwIfNoEntry: false }),
)

/** Follows links; times are in nanoseconds. */
export const preciseStat = syncFs((path: string): BigIntStats => statSync(path, { bigint: true }))

export const readNames = syncFs((folder: string): string[] => readdirSync(folder))

export const readEntries = syncFs((folder: string): Dirent[] =>
  readdirSync(folder, { withFileTypes: true }),
)

export const readByteEntries = syncFs((folder: Buffer): Dirent<Buffer>[] =>
  readdirSync(folder, { withFileTypes: true, encoding: 'buffer' }),
)

/** Returns the target of a link as a byte string (latin1). */
export const readLink = syncFs((path: Buffer): string => readlinkSync(path, 'latin1'))

/** Returns the path and the stats of a file, or of the file that a link leads to. Blocks for a system call: use it with `mapInTurns`. */
export function statTarget(path: string): { path: string; stats: Stats } {
  const stats = lstatSync(path)
  if (!stats.isSymbolicLink()) return { path, stats }
  const target = realpathSync(path)
  return { path: target, stats: statSync(target) }
}

export interface FileStats {
  path: string
  stats: BigIntStats
}

/**
 * Yields everything below a directory in the order of names, without following links. Files that disappear during the walk are
 * omitted. Each step blocks for a system call: use it with `forEachInTurns`.
 */
export function* walkStats(
  dir: string,
  isEntered: (directory: string) => boolean = () => true,
): Generator<FileStats, void, void> {
  const names = ifExistsSync(() => readdirSync(dir), 'ENOENT', 'ENOTDIR') ?? []
  for (const name of names.sort()) {
    const path = `${dir}/${name}`
    const stats = preciseLstat(path)
    if (!stats) continue
    yield { path, stats }
    if (stats.isDirectory() && isEntered(path)) yield* walkStats(path, isEntered)
  }
}

/** Returns the stats of those names below a directory that exist. Blocks for a system call for each. */
export function statExisting(dir: string, names: readonly string[]): FileStats[] {
  const files: FileStats[] = []
  for (const name of names) {
    const path = name === '' ? dir : `${dir}/${name}`
    const stats = preciseLstat(path)
    if (stats) files.push({ path, stats })
  }
  return files
}

/** Many of these files do not exist: `throwIfNoEntry` saves the cost of an exception for each. */
const preciseLstat = (path: string): BigIntStats | undefined =>
  ifExistsSync(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }), 'ENOTDIR')

/** Does not follow links. Times are in nanoseconds, and inode numbers of some file systems need bigints. */
export const preciseLstatIfExists = syncFs(preciseLstat)

/** Returns undefined if `read` throws an error with one of these codes. */
export function ifExistsSync<T>(read: () => T, ...codes: readonly string[]): T | undefined {
  try {
    return read()
  } catch (error) {
    if (hasCode(error, ...codes)) return undefined
    throw error
  }
}
