import { lstat, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git } from '../../git/git.ts'
import { mapConcurrent } from '../../lib/map-concurrent.ts'
import { layoutIn } from '../../service/data-paths.ts'
import type { Config } from '../../settings/config.ts'
import { type GitDirectory, gitDirectory } from '../../sources/directory/git-directory.ts'
import type { FoundRepository, Source } from '../../sources/source.ts'
import { Unreadable } from '../../sources/unreadable.ts'
import { nearestExisting } from './check-data.ts'
import { type CheckResult, errorText, failure, firstFew, passed, warning } from './check-result.ts'

/** Git is waited for, not computed by us. */
const AT_ONCE = 4

interface Problems {
  refused: string[]
  twins: string[]
  unreadable: string[]
  unlockable: string[]
}

/** Opens every repository, which is a look and no proof: `godwit export` proves. */
export async function* checkRepositories(config: Config, git: Git): AsyncGenerator<CheckResult> {
  const { repositories: root, role, databaseUrl } = config
  if (root === undefined) {
    yield withoutRepositories(role, databaseUrl !== undefined)
    return
  }
  const source = gitDirectory({ root, git, layout: layoutIn(config) })
  const found: FoundRepository[] = []
  const problems: Problems = { refused: [], twins: [], unreadable: [], unlockable: [] }
  try {
    for await (const row of source.list()) {
      if ('found' in row) found.push(row.found)
      else if ('members' in row)
        for (const { path, reason } of row.members.warnings)
          problems.refused.push(`${path} (${reason})`)
      else if (row.refused.twinOf !== undefined)
        problems.twins.push(`${row.refused.path} and ${row.refused.twinOf}`)
      else problems.refused.push(`${row.refused.path} (${row.refused.reason})`)
    }
  } catch (error) {
    const advice = 'let the user that runs Godwit read it, or set another --repositories'
    yield failure('repositories', `${root}: ${errorText(error)}`, advice)
    return
  }
  await openEach(source, found, problems)
  yield* judge(config, root, found, problems)
  yield await howSnapshots(config, root)
}

function withoutRepositories(role: Config['role'], isShared: boolean): CheckResult {
  if (role === 'api') return passed('repositories', 'not set; --role api needs none')
  if (!isShared) return passed('repositories', 'not set: `serve` creates a sample host')
  const advice = 'set --repositories DIR; only `serve --role api` works without it'
  return failure('repositories', 'not set', advice)
}

async function openEach(
  source: GitDirectory,
  found: readonly FoundRepository[],
  { unreadable, unlockable }: Problems,
): Promise<void> {
  await mapConcurrent(found, { lanes: AT_ONCE }, async (repository, signal) => {
    const name = `${repository.owner}/${repository.name}`
    let dir: string
    try {
      dir = await source.directoryOf(repository)
      await source.examine(repository, signal)
      await source.tryGit(repository)
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      unreadable.push(`${name} (${error.message})`)
      return
    }
    const why = await whyNoLock(source, repository, dir)
    if (why) unlockable.push(`${name} (${why})`)
  })
}

async function whyNoLock(source: Source, found: FoundRepository, dir: string) {
  if (await isThere(join(dir, 'config.lock'))) return 'config.lock exists'
  return source.checkLock(found).then(
    () => undefined,
    (error: unknown) => errorText(error),
  )
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  )

/** How a repository is named where it is expected. */
const EXPECTED = {
  'owner/name': 'as OWNER/NAME.git',
  flat: 'as NAME.git',
  'any-depth': 'as OWNER/…/NAME.git, with names that are all different when / is written -',
} as const

function* judge(
  { layout }: Config,
  root: string,
  found: readonly FoundRepository[],
  problems: Problems,
) {
  const { refused, twins, unreadable, unlockable } = problems
  const owners = new Set(found.map(({ owner }) => owner)).size
  const counts = `${count(found.length, 'repository', 'repositories')} of ${count(owners, 'owner', 'owners')} in ${root}`
  if (found.length === 0) {
    const advice = `put bare repositories there ${EXPECTED[layout]}, or set another directory or --layout`
    yield warning('repositories', `none in ${root}`, advice)
  } else if (unreadable.length > 0) {
    const advice = 'repair them, or let Godwit read them: a migration that includes one fails'
    yield warning('repositories', `${counts}; cannot be opened: ${firstFew(unreadable)}`, advice)
  } else {
    yield passed('repositories', counts)
  }
  if (refused.length > 0) {
    const advice = `move or rename them: repositories are expected ${EXPECTED[layout]}; these are skipped`
    yield warning('repositories', `skipped: ${firstFew(refused)}`, advice)
  }
  if (twins.length > 0) {
    const advice =
      'rename one of each: names ignore case, and only one of each is served, ' +
      'the one that has the account (`godwit sync` lists the others)'
    yield warning('repositories', `names differ only in case: ${firstFew(twins)}`, advice)
  }
  if (unlockable.length > 0) {
    const advice =
      'let the user that runs Godwit write to these directories, and remove a config.lock that no git holds; ' +
      'migrations with lock_repositories fail until then'
    yield warning('locks', `cannot be locked: ${firstFew(unlockable)}`, advice)
  } else if (found.length > 0) {
    yield passed('locks', 'repositories can be locked')
  }
}

const count = (n: number, one: string, more: string): string => `${n} ${n === 1 ? one : more}`

async function howSnapshots({ data }: Config, root: string): Promise<CheckResult> {
  const [there, here] = await Promise.all([stat(root), stat(await nearestExisting(data))])
  if (there.dev === here.dev) return passed('snapshots', 'use hard links')
  return passed('snapshots', 'use copies: --data is on another filesystem than the repositories')
}
