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
import { join } from 'node:path'
import { setImmediate as othersTurn } from 'node:timers/promises'
import { hasCode } from '../../../lib/errno.ts'

const LONGEST_TURN_MS = 4

let turnBegan = 0

/**
 * To look at a repository is to ask for many small things that the system has at hand: it answers in a few microseconds,
 * and the way through the thread pool and back would take ten times as long. So what is made with this asks at once, and
 * lets others of its thread have a turn every few milliseconds, however much there is to look at.
 */
export function syncFs<A extends unknown[], T>(
  ask: (...about: A) => T,
): (...about: A) => Promise<T> {
  return async (...about) => {
    if (isTurnOver()) await giveTurn()
    return ask(...about)
  }
}

/** The same for what asks at every step. */
export async function inTurns<T>(steps: Iterable<T>, take: (step: T) => void): Promise<void> {
  for (const step of steps) {
    take(step)
    if (isTurnOver()) await giveTurn()
  }
}

const isTurnOver = (): boolean => performance.now() - turnBegan > LONGEST_TURN_MS

async function giveTurn(): Promise<void> {
  await othersTurn()
  turnBegan = performance.now()
}

export const lstat = syncFs((path: string): Stats => lstatSync(path))

/** The same where it may well not be there: an error would cost more. */
export const lstatIfThere = syncFs((path: string): Stats | undefined =>
  lstatSync(path, { throwIfNoEntry: false }),
)

/** Of what a link leads to, to the nanosecond. */
export const preciseStat = syncFs((path: string): BigIntStats => statSync(path, { bigint: true }))

export const namesIn = syncFs((folder: string): string[] => readdirSync(folder))

export const entriesIn = syncFs((folder: string): Dirent[] =>
  readdirSync(folder, { withFileTypes: true }),
)

export const byteEntriesIn = syncFs((folder: Buffer): Dirent<Buffer>[] =>
  readdirSync(folder, { withFileTypes: true, encoding: 'buffer' }),
)

/** As a byte string. */
export const linkTarget = syncFs((path: Buffer): string => readlinkSync(path, 'latin1'))

/** A file, or the one that a link leads to, with its place. */
export const statWithPlace = syncFs((path: string): { place: string; stats: Stats } => {
  const stats = lstatSync(path)
  if (!stats.isSymbolicLink()) return { place: path, stats }
  const place = realpathSync(path)
  return { place, stats: statSync(place) }
})

export interface Seen {
  path: string
  stats: BigIntStats
}

/**
 * Everything below a directory, in order of name, links not followed. What vanishes meanwhile is not there. Each step asks
 * the system: it is for `inTurns` to walk.
 */
export function* statsBelow(dir: string): Generator<Seen, void, void> {
  for (const name of ifThereNow(() => readdirSync(dir))?.sort() ?? []) {
    const path = join(dir, name)
    const stats = preciseStats(path)
    if (!stats) continue
    yield { path, stats }
    if (stats.isDirectory()) yield* statsBelow(path)
  }
}

/** Those of some paths that are there. */
export const statsOf = syncFs((paths: readonly string[]): Seen[] =>
  paths.flatMap((path) => {
    const stats = preciseStats(path)
    return stats ? [{ path, stats }] : []
  }),
)

/** To the nanosecond; of a link itself. Much of what is asked for is not there, and an error each would cost more. */
const preciseStats = (path: string): BigIntStats | undefined =>
  ifThereNow(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }))

function ifThereNow<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}
