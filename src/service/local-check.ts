import type { Db } from '../db/database.ts'
import type { CheckParts } from '../exporter/make-segment.ts'
import { takeScratch } from '../exporter/scratch.ts'
import { createGit } from '../git/git.ts'
import type { Config } from '../settings/config.ts'
import type { Source } from '../sources/source.ts'
import { dataPathsOf, openSource } from './data-paths.ts'
import { openDatabase } from './open-database.ts'
import { requireGit, requireRepositories } from './requirements.ts'

export interface LocalCheck extends CheckParts, AsyncDisposable {
  db: Db
  source: Source
  now: () => number
}

/** Opens the dependencies of checking repositories at the source. A server may be running meanwhile. */
export async function openLocalCheck(config: Config): Promise<LocalCheck> {
  await using parts = new AsyncDisposableStack()
  const paths = dataPathsOf(config, requireRepositories(config))
  await requireGit(config, createGit(paths.git))
  const { db, close } = await openDatabase(config)
  parts.defer(close)
  const scratch = await takeScratch(paths.scratch)
  parts.defer(() => scratch.release())
  const opened = parts.move()
  return {
    db,
    source: openSource(paths),
    scratchDirectory: scratch.directory,
    now: Date.now,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
