import type { Command } from 'commander'
import { checkRepository } from '../exporter/make-segment.ts'
import { mapConcurrent } from '../lib/map-concurrent.ts'
import { inUnits } from '../lib/quantities.ts'
import { escapeForTerminal, escapeJsonForTerminal } from '../lib/terminal-text.ts'
import { UsageError, UserError } from '../lib/user-error.ts'
import { type CheckRecord, keepChecksOf, recordCheck } from '../repositories/check-store.ts'
import { type LocalCheck, openLocalCheck } from '../service/local-check.ts'
import type { Config } from '../settings/config.ts'
import type { RefusedEntry, RepositoryName } from '../sources/source.ts'
import { Unreadable } from '../sources/unreadable.ts'
import { askedRepositories } from './asked-repositories.ts'
import { addCommand, dataConfigOf, isoTime, print, withExamples } from './command-line.ts'
import { progressLine } from './progress-line.ts'
import { untilStopped } from './stop-signal.ts'

interface CheckOptions {
  json?: boolean
  store?: boolean
}

export function checkCommand(program: Command, about: string): void {
  const command = addCommand(program, 'check [names...]', about)
  withExamples(
    command,
    'godwit check --repositories /srv/git                # all repositories',
    'godwit check alice octo/tools --repositories /srv/git',
    'godwit check --store                                # all stored segments and archives',
  )
  command
    .usage('[OWNER[/NAME]...] --repositories DIR | --store [settings]')
    .option('--store', 'read all that is stored and compare it with its checksums')
    .option('--json', 'print the results as JSON')
    .action((names: string[], options: CheckOptions, command: Command) =>
      untilStopped(async (signal) => {
        const config = dataConfigOf(command)
        if (!options.store) return runCheck(config, names, options, signal)
        if (names.length > 0)
          throw new UsageError('--store checks all that is stored: name no repositories')
        const { checkWholeStore } = await import('./check/store.ts')
        await checkWholeStore(config, options, signal)
      }),
    )
}

async function runCheck(
  config: Config,
  asked: string[],
  { json = false }: CheckOptions,
  signal: AbortSignal,
): Promise<void> {
  await using parts = await openLocalCheck(config)
  const { names, refused } = await repositoriesToCheck(parts, asked)
  const results: CheckRecord[] = []
  {
    using line = progressLine(process.stderr)
    line.show(0, `0/${names.length} repositories`)
    const lanes = { lanes: config.concurrency, signal }
    await mapConcurrent(names, lanes, async (name, stop) => {
      const result = await check(parts, name, stop)
      results.push(result)
      await recordCheck(parts.db, result)
      const problem = inWords(result)
      if (problem !== undefined && !json) line.say(problem)
      const part = results.length / names.length
      line.show(part, `${results.length}/${names.length} ${result.fullName}`)
    })
  }
  if (asked.length === 0)
    await keepChecksOf(
      parts.db,
      results.map(({ fullName }) => fullName),
    )
  tellAll(results, refused, json)
}

async function check(parts: LocalCheck, name: RepositoryName, signal: AbortSignal) {
  const startedAt = performance.now()
  const ended = (bytes: number, reason: string | null, warning: string | null): CheckRecord => ({
    fullName: `${name.owner}/${name.name}`,
    checkedAt: parts.now(),
    reason,
    warning,
    bytes,
    tookMs: performance.now() - startedAt,
  })
  try {
    const { bytes, warning } = await checkRepository(parts, name, signal)
    return ended(bytes, null, warning)
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return ended(0, error.message.replace(`${name.owner}/${name.name}: `, ''), null)
  }
}

/** All that the source lists where none is named. */
async function repositoriesToCheck(parts: LocalCheck, asked: string[]) {
  if (asked.length > 0) {
    const { entries, refused } = await askedRepositories(parts, asked)
    const names = entries.map(({ owner, name }) => ({ owner: owner.login, name }))
    return { names, refused }
  }
  const names: RepositoryName[] = []
  const refused: RefusedEntry[] = []
  for await (const listed of parts.source.list()) {
    if ('found' in listed) names.push(listed.found)
    if ('refused' in listed) refused.push(listed.refused)
  }
  return { names, refused }
}

function inWords({ fullName, reason, warning }: CheckRecord): string | undefined {
  if (reason !== null) return `failed: ${escapeForTerminal(`${fullName}: ${reason}`)}`
  return warning === null ? undefined : `warning: ${escapeForTerminal(`${fullName}: ${warning}`)}`
}

function tellAll(results: CheckRecord[], refused: RefusedEntry[], isJson: boolean): void {
  const failed = results.filter(({ reason }) => reason !== null).length
  const warnings = results.filter(({ warning }) => warning !== null).length + refused.length
  const bytes = results.reduce((sum, each) => sum + each.bytes, 0)
  const counts = `${results.length - failed} passed, ${warnings} warnings, ${failed} failed`
  if (isJson) print(escapeJsonForTerminal(results.map(jsonOf)))
  else {
    for (const { path, reason } of refused)
      print(`warning: ${escapeForTerminal(`${path}: ${reason}`)}`)
    print(`${counts}; ${inUnits(bytes)} read`)
  }
  if (failed > 0)
    throw new UserError(`${failed} of ${results.length} repositories cannot be exported`)
}

const jsonOf = (each: CheckRecord) => ({
  full_name: each.fullName,
  outcome: each.reason === null ? 'passed' : 'failed',
  reason: each.reason,
  warning: each.warning,
  bytes: each.bytes,
  checked_at: isoTime(each.checkedAt),
  seconds: each.tookMs / 1000,
})
