import type { BigIntStats } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from './unreadable.ts'

const AT_ONCE = 32

export interface Seen {
  path: string
  stats: BigIntStats
}

/** Everything below a directory, in order of name, links not followed. What vanishes meanwhile is not there. */
export async function* statsBelow(dir: string): AsyncGenerator<Seen, void, void> {
  const names = (await ifThere(readdir(dir))) ?? []
  names.sort()
  for (let from = 0; from < names.length; from += AT_ONCE) {
    const paths = names.slice(from, from + AT_ONCE).map((name) => join(dir, name))
    for (const { path, stats } of await statsOf(paths)) {
      yield { path, stats }
      if (stats.isDirectory()) yield* statsBelow(path)
    }
  }
}

/** Those of the paths that are there. */
export async function statsOf(paths: readonly string[]): Promise<Seen[]> {
  const all = await Promise.all(
    paths.map(async (path) => ({ path, stats: await ifThere(lstat(path, { bigint: true })) })),
  )
  return all.flatMap(({ path, stats }) => (stats ? [{ path, stats }] : []))
}

async function ifThere<T>(looked: Promise<T>): Promise<T | undefined> {
  try {
    return await looked
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    throw error
  }
}
