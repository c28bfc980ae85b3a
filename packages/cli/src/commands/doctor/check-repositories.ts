import { existsSync } from 'node:fs'
import { link, lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { nearestExisting } from '@godwit/archive/formats/output'
import type { Git } from '@godwit/git/git'
import { Unreadable } from '@godwit/git/unreadable'
import { type GitDirectory, gitDirectory } from '@godwit/hosts/directory/git-directory'
import type { FoundRepository, Source } from '@godwit/hosts/source'
import { hasCode } from '@godwit/lib/errno'
import { formatCount } from '@godwit/lib/quantities'
import { mapConcurrent } from '@godwit/lib/turns'
import { nameKey } from '@godwit/server/accounts/account'
import { brokenRepositories, lockedRepositories } from '@godwit/server/db/inspect-database'
import { layoutOptions } from '@godwit/server/service/data-paths'
import type { ServiceConfig } from '../service-settings.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { databaseOf } from './check-database.ts'
import { type CheckResult, errorText, failure, firstFew, passed, warning } from './check-result.ts'

/** The checks wait for git processes, so this does not depend on the number of cores. */
const CONCURRENCY = 4

interface Problems {
  refused: string[]
  /** Pairs of names that differ only in case. */
  caseConflicts: string[]
  unreadable: string[]
  unlockable: string[]
}

/** An object file of a repository, by which hard links are tried. */
interface ObjectToLink {
  name: string
  file: string
}

/**
 * Opens every repository, without reading its objects as `godwit check` does. Reports the damage that the last sync, check or export
 * found.
 */
export async function* checkRepositories(
  config: ServiceConfig,
  git: Git,
  signal: AbortSignal,
): AsyncGenerator<CheckResult> {
  const { repositories: root, role, databaseUrl } = config
  if (root === undefined) return yield withoutRepositories(role, databaseUrl !== undefined)
  const source = gitDirectory({ root, git, layout: layoutOptions(config) })
  const found: FoundRepository[] = []
  const problems: Problems = { refused: [], caseConflicts: [], unreadable: [], unlockable: [] }
  try {
    for await (const listed of source.list()) {
      if ('found' in listed) found.push(listed.found)
      else if ('members' in listed)
        for (const { path, reason } of listed.members.warnings)
          problems.refused.push(`${path} (${reason})`)
      else if (listed.refused.caseConflictWith !== undefined)
        problems.caseConflicts.push(`${listed.refused.path} and ${listed.refused.caseConflictWith}`)
      else problems.refused.push(`${listed.refused.path} (${listed.refused.reason})`)
    }
  } catch (error) {
    const advice = existsSync(root)
      ? 'let the user that runs Godwit read it, or set another --repositories'
      : 'create it, check that its file system is mounted, or set another --repositories'
    return yield failure('repositories', `${root}: ${errorText(error)}`, advice)
  }
  const objects = await openAll(source, found, problems, signal)
  yield* describeProblems(config, root, found, problems)
  yield* checkDamage(config, found)
  yield* checkSnapshots(config, objects)
}

function withoutRepositories(role: ServiceConfig['role'], usesPostgres: boolean): CheckResult {
  if (role === 'api') return passed('repositories', 'not set; --role api needs none')
  if (!usesPostgres) {
    const found = 'not set: `serve` serves the built-in sample repositories'
    return warning('repositories', found, 'set --repositories DIR to serve your own')
  }
  const advice = 'set --repositories DIR; only `serve --role api` works without it'
  return failure('repositories', 'not set', advice)
}

/** Returns an object file of each repository that can be opened and has one. */
async function openAll(
  source: GitDirectory,
  found: readonly FoundRepository[],
  { unreadable, unlockable }: Problems,
  signal: AbortSignal,
): Promise<ObjectToLink[]> {
  const objects: ObjectToLink[] = []
  await mapConcurrent(found, { concurrency: CONCURRENCY, signal }, async (repository, stop) => {
    const name = `${repository.owner}/${repository.name}`
    let dir: string
    try {
      dir = await source.directoryOf(repository)
      const { objectFiles } = (await source.examine(repository, stop)).repository
      if (objectFiles[0]) objects.push({ name, file: objectFiles[0].from })
      await source.checkGitAccess(repository)
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      unreadable.push(`${name} (${error.message})`)
      return
    }
    const why = await whyNotLockable(source, repository, dir)
    if (why) unlockable.push(`${name} (${why})`)
  })
  return objects
}

async function whyNotLockable(source: Source, found: FoundRepository, dir: string) {
  if (await lstat(join(dir, 'config.lock')).catch(() => undefined)) return 'config.lock exists'
  return source.checkLock(found).then(
    () => undefined,
    (error: unknown) => errorText(error),
  )
}

/** Where repositories are expected, by layout. */
const EXPECTED = {
  'owner/name': 'as OWNER/NAME.git',
  flat: 'as NAME.git',
  'any-depth': 'as OWNER/…/NAME.git, with names that are still unique when / is replaced by -',
} as const

function* describeProblems(
  { layout }: ServiceConfig,
  root: string,
  found: readonly FoundRepository[],
  problems: Problems,
) {
  const { refused, caseConflicts, unreadable, unlockable } = problems
  const owners = new Set(found.map(({ owner }) => owner)).size
  const counts = `${formatCount(found.length, 'repository')} of ${formatCount(owners, 'owner')} in ${root}`
  if (found.length === 0) {
    const advice = `put bare repositories there ${EXPECTED[layout]}, or set another directory or --layout`
    yield warning('repositories', `none in ${root}`, advice)
  } else if (unreadable.length > 0) {
    const advice = 'repair them, or let Godwit read them: a migration that includes one fails'
    yield warning('repositories', `${counts}; cannot be opened: ${firstFew(unreadable)}`, advice)
  } else {
    yield passed('repositories', `${counts}, all can be opened`)
  }
  if (refused.length > 0) {
    const advice = `move or rename them: repositories are expected ${EXPECTED[layout]}; these are skipped`
    yield warning('repositories', `skipped: ${firstFew(refused)}`, advice)
  }
  if (caseConflicts.length > 0) {
    const advice =
      'rename one of each: names are case-insensitive, and only one of each is served ' +
      '(`godwit sync` lists the others)'
    yield warning('repositories', `names differ only in case: ${firstFew(caseConflicts)}`, advice)
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

async function* checkDamage(config: ServiceConfig, found: readonly FoundRepository[]) {
  // checkDatabase reports a database that cannot be read.
  const broken = await brokenRepositories(databaseOf(config)).catch(() => undefined)
  if (!broken || found.length === 0) return
  const existing = new Set(found.map(({ owner, name }) => nameKey(`${owner}/${name}`)))
  const names = broken.filter((name) => existing.has(nameKey(name)))
  if (names.length > 0) {
    const counts = formatCount(names.length, 'repository')
    const advice =
      'repair them: `godwit check OWNER/NAME` says what is wrong, and that it is repaired'
    yield warning('damage', `${counts} cannot be read or exported: ${firstFew(names)}`, advice)
  } else
    yield passed(
      'damage',
      'none known from the last sync, checks and exports; `godwit check` looks for more',
    )
}

/** Tries to link an object file of each repository into the data directory, as a snapshot does. */
export async function* checkSnapshots({ data }: ServiceConfig, objects: readonly ObjectToLink[]) {
  if (objects.length === 0) return
  // checkData reports a directory that cannot be written.
  const created = await temporaryDirectory(join(nearestExisting(data), '.godwit-doctor-')).catch(
    () => undefined,
  )
  if (!created) return
  await using probe = created
  const refused: string[] = []
  let reason = ''
  for (const [at, { name, file }] of objects.entries())
    try {
      await link(file, join(probe.path, String(at)))
    } catch (error) {
      refused.push(name)
      reason ||= whyNotLinked(error)
    }
  if (refused.length === 0) yield passed('snapshots', 'use hard links')
  else if (refused.length === objects.length) yield passed('snapshots', `use copies: ${reason}`)
  else yield passed('snapshots', `use hard links, but copies of ${firstFew(refused)}: ${reason}`)
}

function whyNotLinked(error: unknown): string {
  if (hasCode(error, 'EXDEV')) return '--data is on another filesystem than the repositories'
  if (hasCode(error, 'EPERM', 'EACCES'))
    return 'the system forbids hard links to files of other users (fs.protected_hardlinks)'
  return errorText(error)
}

/** Finds repositories that are locked although no migration holds the lock. */
export async function* checkLocks(config: ServiceConfig, git: Git): AsyncGenerator<CheckResult> {
  const { repositories: root } = config
  if (root === undefined) return
  const source = gitDirectory({ root, git, layout: layoutOptions(config) })
  // Other checks report a database or a directory that cannot be read.
  const recorded = await lockedRepositories(databaseOf(config)).catch(() => undefined)
  const locked = await findLocked(source).catch(() => [])
  const stray = recorded && locked.filter((name) => !recorded.has(name.toLowerCase()))
  if (!stray || stray.length === 0) return
  const advice =
    'unless another Godwit serves these repositories, unlock them with `godwit lock remove OWNER/NAME`'
  yield warning('locks', `locked by no migration: ${firstFew(stray)}`, advice)
}

async function findLocked(source: Source): Promise<string[]> {
  const locked: string[] = []
  await mapConcurrent(source.list(), { concurrency: CONCURRENCY }, async (listed) => {
    if (!('found' in listed)) return
    const { owner, name } = listed.found
    const hasLock = await source.hasLock(listed.found).catch((error: unknown) => {
      if (error instanceof Unreadable) return false
      throw error
    })
    if (hasLock) locked.push(`${owner}/${name}`)
  })
  return locked
}

const LFS_ADVICE = 'let the user that runs Godwit read it, or set another --lfs-directory'

/** Checks that LFS objects can be read: otherwise every migration would report them as missing. */
export async function* checkLfs({
  lfsDirectory,
  role,
}: ServiceConfig): AsyncGenerator<CheckResult> {
  if (lfsDirectory === undefined || role === 'api') return
  const unreadable: string[] = []
  try {
    for (const entry of await readdir(lfsDirectory, { withFileTypes: true })) {
      if (!entry.isDirectory()) continue
      await readdir(join(lfsDirectory, entry.name)).catch(() => unreadable.push(entry.name))
    }
  } catch (error) {
    return yield failure('lfs', `${lfsDirectory}: ${errorText(error)}`, LFS_ADVICE)
  }
  yield unreadable.length > 0
    ? warning('lfs', `${lfsDirectory}: cannot be read: ${firstFew(unreadable)}`, LFS_ADVICE)
    : passed('lfs', `${lfsDirectory}, readable`)
}
