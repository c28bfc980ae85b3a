import { type BigIntStats, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { hasCode } from '../../ground/errno.ts'
import { promptly } from './prompt-files.ts'

export interface Seen {
  path: string
  stats: BigIntStats
}

/**
 * Everything below a directory, in order of name, links not followed. What vanishes meanwhile is not there. Each step asks
 * the system: it is for `inTurns` to walk.
 */
export function* statsBelow(dir: string): Generator<Seen, void, void> {
  for (const name of ifThere(() => readdirSync(dir))?.sort() ?? []) {
    const path = join(dir, name)
    const stats = preciseStats(path)
    if (!stats) continue
    yield { path, stats }
    if (stats.isDirectory()) yield* statsBelow(path)
  }
}

/** Those of some paths that are there. */
export const statsOf = promptly((paths: readonly string[]): Seen[] =>
  paths.flatMap((path) => {
    const stats = preciseStats(path)
    return stats ? [{ path, stats }] : []
  }),
)

/** To the nanosecond; of a link itself. Much of what is asked for is not there, and an error each would cost more. */
const preciseStats = (path: string): BigIntStats | undefined =>
  ifThere(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }))

function ifThere<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}
