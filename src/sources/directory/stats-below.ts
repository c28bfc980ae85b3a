import { type BigIntStats, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { hasCode } from '../../ground/errno.ts'
import { namesIn, promptly } from './prompt-files.ts'

export interface Seen {
  path: string
  stats: BigIntStats
}

/** Everything below a directory, in order of name, links not followed. What vanishes meanwhile is not there. */
export async function* statsBelow(dir: string): AsyncGenerator<Seen, void, void> {
  for (const name of (await ifThere(namesIn(dir)))?.sort() ?? []) {
    const path = join(dir, name)
    const stats = await ifThere(preciseStats(path))
    if (!stats) continue
    yield { path, stats }
    if (stats.isDirectory()) yield* statsBelow(path)
  }
}

/** Those of the paths that are there. */
export async function statsOf(paths: readonly string[]): Promise<Seen[]> {
  const seen: Seen[] = []
  for (const path of paths) {
    const stats = await ifThere(preciseStats(path))
    if (stats) seen.push({ path, stats })
  }
  return seen
}

/** To the nanosecond; of a link itself. Much of what is asked for is not there, and an error each would cost more. */
const preciseStats = promptly((path: string): BigIntStats | undefined =>
  lstatSync(path, { bigint: true, throwIfNoEntry: false }),
)

async function ifThere<T>(looked: Promise<T>): Promise<T | undefined> {
  try {
    return await looked
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}
