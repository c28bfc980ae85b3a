import { hostname } from 'node:os'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import {
  ExportFailed,
  formatRepositoryEnd,
  type RepositoryEnd,
} from '../exporter/export-archive.ts'
import { inUnits } from '../lib/quantities.ts'
import { escapeForTerminal } from '../lib/terminal-text.ts'
import { UserError } from '../lib/user-error.ts'
import { addressesFrom } from '../repositories/addresses.ts'
import { fullNameOf, type RepositoryFacts } from '../repositories/facts.ts'
import { factsForViewer } from '../repositories/facts-for-viewer.ts'
import { type LocalExport, openLocalExport } from '../service/local-export.ts'
import { VERSION } from '../service/version.ts'
import { type Config, settingsForExport } from '../settings/config.ts'
import type { WaitUntil } from '../sources/forge-errors.ts'
import { askedRepositories } from './asked-repositories.ts'
import { addCommand, note, settingsOf, withExamples } from './command-line.ts'
import { outputOf } from './export/output.ts'
import { type ExportReport, exportReport, needsAttention } from './export/report.ts'
import { progressLine } from './progress-line.ts'
import { untilStopped } from './stop-signal.ts'
import { writeWholeFile } from './whole-file.ts'

interface ExportOptions {
  output: string
  allowPartial?: boolean
  force?: boolean
  oneArchivePerRepository?: boolean
  report?: string
}

export function exportCommand(program: Command, about: string): void {
  const command = addCommand(program, 'export <names...>', about)
  withExamples(
    command,
    'godwit export alice octo/tools --repositories /srv/git --output migration.tar.gz',
    'godwit export alice --repositories /srv/git --output - | ssh backup "cat > alice.tar.gz"',
    'godwit export alice --repositories /srv/git --one-archive-per-repository --output archives',
  )
  command
    .usage('OWNER[/NAME]... --repositories DIR --output FILE [settings]')
    .requiredOption('--output <FILE>', 'file to write; - for standard output')
    .option('--allow-partial', 'skip repositories that cannot be exported')
    .option('--force', 'replace the file if it exists')
    .option(
      '--one-archive-per-repository',
      'write an archive for each repository, to OWNER/NAME.tar.gz in the directory of --output',
    )
    .option('--report <FILE>', 'write a report of each repository to this file, as JSON')
    .action((names: string[], options: ExportOptions, command: Command) =>
      untilStopped((signal) => runExport(settingsOf(command), names, options, signal)),
    )
}

async function runExport(
  given: Config,
  names: string[],
  options: ExportOptions,
  signal: AbortSignal,
): Promise<void> {
  const output = await outputOf(options)
  const { config, guessed } = settingsForExport(given, hostname())
  const warnings = guessed ? [guessedAddress(guessed)] : []
  await using parts = await openLocalExport(config, output.nearby, (words) => warnings.push(words))
  const repositories = await chosen(parts, names, options)
  await output.refuseExisting(repositories)

  using progress = exportProgress(process.stderr, repositories)
  const startedAt = performance.now()
  const ends: RepositoryEnd[] = []
  const order = {
    owner: repositories[0]!.owner,
    repositories,
    allowPartial: options.allowPartial ?? false,
    concurrency: config.concurrency,
    onEnd(end: RepositoryEnd) {
      ends.push(end)
      progress.ended(end)
    },
  }
  const making = {
    ...parts,
    addresses: addressesFrom(config),
    generator: `godwit ${VERSION}`,
    onWait: (fullName: string, { dueAt, message }: WaitUntil) =>
      progress.say(`${fullName}: waiting until ${new Date(dueAt).toISOString()}: ${message}`),
  }
  const writing = { force: options.force ?? false, onBytes: progress.writing, signal }
  const archives = await output.write(making, order, writing).catch((error: unknown) => {
    throw error instanceof ExportFailed ? cannotExport(error.message, options) : error
  })
  const seconds = (performance.now() - startedAt) / 1000
  const report = exportReport(ends, { archives, seconds, warnings })
  progress.say(report.text())
  if (options.report) await writeReport(options.report, report, signal)
}

function guessedAddress(address: string): string {
  return `records in the archive have addresses at ${address}: set --base-url, --web-url or --host-name to use others`
}

async function writeReport(file: string, report: ExportReport, signal: AbortSignal): Promise<void> {
  const text = `${JSON.stringify(report.json(), null, 2)}\n`
  await writeWholeFile(resolve(file), [Buffer.from(text)], { force: true, signal })
}

/** An operator may export whatever is there; what cannot even be looked at is told like what cannot be exported. */
async function chosen(
  parts: LocalExport,
  names: string[],
  options: ExportOptions,
): Promise<RepositoryFacts[]> {
  const { entries, refused } = await askedRepositories(parts, names)
  const reasons = refused.map(({ path, reason }) => `${path}: ${reason}`)
  if (reasons.length > 0 && (!options.allowPartial || entries.length === 0))
    throw cannotExport(reasons.join('\n'), options)
  for (const reason of reasons) note(`skipped: ${escapeForTerminal(reason)}`)
  const [first] = entries
  if (!first) throw new UserError('the repositories were removed while they were read')
  return factsForViewer(parts.db, { account: first.owner }, entries)
}

function cannotExport(reasons: string, { allowPartial }: ExportOptions): UserError {
  const next = allowPartial
    ? 'no other repository was selected'
    : 'use --allow-partial to skip these'
  return new UserError(`${reasons}\nnothing was written; ${next}`)
}

/** Disposing leaves the terminal as it was. */
interface ExportProgress extends Disposable {
  ended(end: RepositoryEnd): void
  writing(bytes: number): void
  say(text: string): void
}

/** A bar where someone watches; otherwise a line for each repository, for logs. */
function exportProgress(
  to: NodeJS.WriteStream,
  repositories: readonly RepositoryFacts[],
): ExportProgress {
  const line = progressLine(to)
  // An empty repository is a step too.
  const weight = ({ sizeKib }: RepositoryFacts) => sizeKib + 1
  const total = repositories.reduce((sum, facts) => sum + weight(facts), 0)
  let [done, count] = [0, 0]
  return {
    ended(end) {
      done += weight(end.facts)
      count += 1
      if (!to.isTTY || needsAttention(end)) line.say(formatRepositoryEnd(end))
      line.show(done / total, `${count}/${repositories.length} ${fullNameOf(end.facts)}`)
    },
    writing: (bytes) => line.show(undefined, `writing ${inUnits(bytes)}`),
    say: line.say,
    [Symbol.dispose]: line[Symbol.dispose],
  }
}
