import { Unreadable } from '@godwit/git/unreadable'
import type { RefusedEntry, RepositoryName } from '@godwit/hosts/source'
import { formatBytes, formatCount, formatNumber } from '@godwit/lib/quantities'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { mapConcurrent } from '@godwit/lib/turns'
import { UsageError, UserError } from '@godwit/lib/user-error'
import { inAuditedTransaction } from '@godwit/server/accounts/audit-log'
import { claimBlobStore } from '@godwit/server/exporter/blob-store-owner'
import { checkStore } from '@godwit/server/exporter/check-segments'
import { checkRepository } from '@godwit/server/exporter/make-segment'
import { type DamagedArchive, damagedArchives } from '@godwit/server/migrations/archive-store'
import { countSegments } from '@godwit/server/migrations/segment-store'
import { deleteOtherChecks, recordCheck } from '@godwit/server/repositories/repository-check-store'
import { blobsAddress, blobsOf, openBlobs } from '@godwit/server/service/data-paths'
import { type LocalCheck, openLocalCheck } from '@godwit/server/service/local-export'
import { withDatabase } from '@godwit/server/service/open-database'
import type { Command } from 'commander'
import type { Config } from '../settings/config.ts'
import { addCommand, configAsDataOwner } from './command-line.ts'
import { isoTime, type JsonOption, print, printJson } from './print.ts'
import { findRequestedRepositories } from './requested-repositories.ts'
import { COMMAND_LINE } from './service-database.ts'
import { DATABASE, SOURCE } from './service-settings.ts'
import { stoppable } from './stop-signal.ts'
import { progressLine } from './terminal.ts'

const SETTINGS = [...DATABASE, ...SOURCE, 'concurrency'] as const

type CheckConfig = Config<(typeof SETTINGS)[number]>

type CheckOptions = JsonOption & { store?: boolean; lost?: boolean }

export function checkCommand(program: Command, about: string): void {
  addCommand(
    program,
    'check [names...]',
    about,
    [
      'godwit check --repositories /srv/git                # all repositories',
      'godwit check alice octo/tools --repositories /srv/git',
      'godwit check --store                                # all stored segments and archives',
    ],
    SETTINGS,
  )
    .usage('[OWNER[/NAME]...] --repositories DIR | --store [settings]')
    .option('--store', 'read all stored data and compare it with its checksums')
    .option(
      '--lost',
      'with --store: what was stored is lost for good; use the store as it is, and record everything that is missing there as damaged',
    )
    .action(
      stoppable(async (signal, names: string[], options: CheckOptions, command: Command) => {
        const config = configAsDataOwner(command, SETTINGS)
        if (options.lost && !options.store) throw new UsageError('--lost needs --store')
        if (!options.store) return runCheck(config, names, options, signal)
        if (names.length > 0)
          throw new UsageError('--store checks all stored data: give no repositories')
        await checkStoredData(config, options, signal)
      }),
    )
}

async function runCheck(
  config: CheckConfig,
  requested: string[],
  { json = false }: CheckOptions,
  signal: AbortSignal,
): Promise<void> {
  await using dependencies = await openLocalCheck(config)
  const { names, refused } = await repositoriesToCheck(dependencies, requested)
  const results: Check[] = []
  {
    using line = progressLine()
    line.update(0, `0/${names.length} repositories`)
    const options = { concurrency: config.concurrency, signal }
    await mapConcurrent(names, options, async (name, stop) => {
      const result = await checkOne(dependencies, name, stop)
      results.push(result)
      await recordCheck(dependencies.db, result)
      const problem = formatProblem(result)
      if (problem !== undefined && !json) line.print(problem)
      const fraction = results.length / names.length
      line.update(fraction, `${results.length}/${names.length} ${result.fullName}`)
    })
  }
  if (requested.length === 0) {
    const checked = results.map(({ fullName }) => fullName)
    await deleteOtherChecks(dependencies.db, checked)
  }
  printResults(results, refused, json)
}

type Check = Awaited<ReturnType<typeof checkOne>>

async function checkOne(dependencies: LocalCheck, name: RepositoryName, signal: AbortSignal) {
  const startedAt = performance.now()
  const fullName = `${name.owner}/${name.name}`
  const result = await checkRepository(dependencies, name, signal).then(
    ({ bytes, warning }) => ({ bytes, warning, reason: null }),
    (error: unknown) => {
      if (!(error instanceof Unreadable)) throw error
      return { bytes: 0, warning: null, reason: error.message.replace(`${fullName}: `, '') }
    },
  )
  return {
    fullName,
    checkedAt: dependencies.now(),
    tookMs: performance.now() - startedAt,
    ...result,
  }
}

/** Returns the requested repositories, or all of the source if none is named. */
async function repositoriesToCheck(dependencies: LocalCheck, requested: string[]) {
  if (requested.length > 0) {
    const { entries, refused } = await findRequestedRepositories(dependencies, requested)
    const names = entries.map(({ owner, name }) => ({ owner: owner.login, name }))
    return { names, refused }
  }
  const names: RepositoryName[] = []
  const refused: RefusedEntry[] = []
  for await (const listed of dependencies.source.list()) {
    if ('found' in listed) names.push(listed.found)
    if ('refused' in listed) refused.push(listed.refused)
  }
  return { names, refused }
}

function formatProblem({ fullName, reason, warning }: Check): string | undefined {
  const problem = reason ?? warning
  if (problem === null) return undefined
  return escapeForTerminal(`${reason === null ? 'warning' : 'failed'}: ${fullName}: ${problem}`)
}

function printResults(results: Check[], refused: RefusedEntry[], isJson: boolean): void {
  const failed = results.filter(({ reason }) => reason !== null).length
  const warnings = results.filter(({ warning }) => warning !== null).length + refused.length
  const bytes = results.reduce((sum, each) => sum + each.bytes, 0)
  const counts = `${results.length - failed} passed, ${formatCount(warnings, 'warning')}, ${failed} failed`
  if (isJson) printJson(results.map(checkJson))
  else {
    for (const { path, reason } of refused)
      print(`warning: ${escapeForTerminal(`${path}: ${reason}`)}`)
    print(`${counts}; ${formatBytes(bytes)} read`)
  }
  if (failed > 0)
    throw new UserError(
      `${failed} of ${formatCount(results.length, 'repository')} cannot be exported`,
    )
}

const checkJson = (each: Check) => ({
  full_name: each.fullName,
  outcome: each.reason === null ? 'passed' : 'failed',
  reason: each.reason,
  warning: each.warning,
  bytes: each.bytes,
  checked_at: isoTime(each.checkedAt),
  seconds: each.tookMs / 1000,
})

/** Reads all stored segments and archives, and lists the archives that contain damaged data. The service may be running. */
async function checkStoredData(
  config: CheckConfig,
  { json = false, lost: isLost }: CheckOptions,
  signal: AbortSignal,
): Promise<void> {
  const blobs = await openBlobs(blobsOf(config))
  await withDatabase(config, async ({ db }) => {
    if (isLost)
      await inAuditedTransaction({ db, now: Date.now }, COMMAND_LINE, async (tx, record) => {
        await record(tx, 'store.accept_loss', { details: { store: blobsAddress(config) } })
        await claimBlobStore(tx, blobs, { isLost })
      })
    const read = { intact: 0, damaged: 0, bytes: 0 }
    {
      using line = progressLine()
      const { bytes: total } = await countSegments(db)
      const dependencies = { db, blobs, now: Date.now }
      for await (const { result, bytes } of checkStore(
        dependencies,
        { before: Date.now() },
        signal,
      )) {
        read[result] += 1
        read.bytes += bytes
        const count = formatNumber(read.intact + read.damaged)
        const fraction = total === 0 ? undefined : read.bytes / total
        line.update(fraction, `${count} read, ${formatBytes(read.bytes)}`)
      }
    }
    const archives = await damagedArchives(db)
    if (json) printJson({ ...read, archives: archives.map(damagedArchiveJson) })
    else {
      for (const { migrationId, login, damaged } of archives) {
        const names = escapeForTerminal(`${login}: ${damaged.join(', ')}`)
        print(`damaged: the archive of migration ${migrationId} of ${names}`)
      }
      print(`${read.intact} intact, ${read.damaged} damaged; ${formatBytes(read.bytes)} read`)
    }
    if (read.damaged > 0) throw new UserError(describeDamage(read.damaged, read.intact, archives))
  })
}

const damagedArchiveJson = ({ migrationId, ...rest }: DamagedArchive) => ({
  migration_id: migrationId,
  ...rest,
})

function describeDamage(damaged: number, intact: number, archives: unknown[]) {
  const verb = damaged === 1 ? 'is' : 'are'
  const found = `${damaged} of ${damaged + intact} stored segments and archives ${verb} damaged`
  const again = 'the next migration of a damaged repository exports it again'
  return archives.length === 0
    ? `${found}; no archive contains damaged data, and ${again}`
    : `${found}; ${again}. Restore the data directory or bucket from a backup to repair the listed archives`
}
