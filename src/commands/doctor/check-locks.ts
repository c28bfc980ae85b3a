import { join } from 'node:path'
import { lockedRepositories } from '../../db/survey.ts'
import type { Git } from '../../git/git.ts'
import { mapConcurrent } from '../../lib/map-concurrent.ts'
import { layoutIn } from '../../service/data-paths.ts'
import type { Config } from '../../settings/config.ts'
import { gitDirectory } from '../../sources/directory/git-directory.ts'
import type { FoundRepository, Source } from '../../sources/source.ts'
import { Unreadable } from '../../sources/unreadable.ts'
import { type CheckResult, firstFew, warning } from './check-result.ts'

/** Git is waited for, not computed by us. */
const AT_ONCE = 4

/** Repositories that refuse pushes for a migration that no longer holds them, or never did. */
export async function* checkLocks(config: Config, git: Git): AsyncGenerator<CheckResult> {
  const { repositories: root, data, databaseUrl } = config
  if (root === undefined) return
  const database = { sqlite: join(data, 'godwit.sqlite'), postgres: databaseUrl }
  // A database or a directory that cannot be read has its own finding.
  const known = await lockedRepositories(database).catch(() => undefined)
  const locked = await lockedIn(gitDirectory({ root, git, layout: layoutIn(config) })).catch(
    () => [],
  )
  const stray = known && locked.filter((name) => !known.has(name.toLowerCase()))
  if (!stray || stray.length === 0) return
  const advice =
    'unless another Godwit serves these repositories, unlock them with `godwit locks release OWNER/NAME`'
  yield warning('locks', `locked by no migration: ${firstFew(stray)}`, advice)
}

async function lockedIn(source: Source): Promise<string[]> {
  const locked: string[] = []
  async function look(found: FoundRepository): Promise<void> {
    const hasLock = await source.hasLock(found).catch((error: unknown) => {
      if (error instanceof Unreadable) return false
      throw error
    })
    if (hasLock) locked.push(`${found.owner}/${found.name}`)
  }
  await mapConcurrent(source.list(), { lanes: AT_ONCE }, async (row) => {
    if ('found' in row) await look(row.found)
  })
  return locked
}
