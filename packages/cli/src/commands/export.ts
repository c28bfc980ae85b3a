import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import type { HostUnavailable } from '@godwit/hosts/host-errors'
import { formatBytes, formatCount, formatDuration } from '@godwit/lib/quantities'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { UsageError, UserError } from '@godwit/lib/user-error'
import {
  ExportFailed,
  formatRepositoryResult,
  type RepositoryResult,
} from '@godwit/server/exporter/export-archive'
import { archiveWarnings } from '@godwit/server/migrations/progress'
import { addressesFrom } from '@godwit/server/repositories/addresses'
import {
  fullNameOf,
  type RepositoryMetadata,
} from '@godwit/server/repositories/repository-metadata'
import { metadataForViewer } from '@godwit/server/repositories/visible-repository'
import { type LocalExport, openLocalExport } from '@godwit/server/service/local-export'
import { VERSION } from '@godwit/server/service/version'
import type { Command } from 'commander'
import { settingsForExport } from '../settings/config.ts'
import { refuseExistingFile, writeFileAtomically } from './atomic-file.ts'
import { addCommand, readCommandConfig } from './command-line.ts'
import { chooseOutput, type OutputOptions, type WrittenArchive } from './export-output.ts'
import { isoTime, printJson, printMessage } from './print.ts'
import { findRequestedRepositories } from './requested-repositories.ts'
import { ADDRESSES, FORGE, SOURCE } from './service-settings.ts'
import { stoppable } from './stop-signal.ts'
import { progressLine } from './terminal.ts'

const SETTINGS = [
  ...SOURCE,
  ...FORGE,
  ...ADDRESSES,
  'hostName',
  'installedVersion',
  'concurrency',
  'segmentTtl',
  'segmentCheckAge',
] as const

interface ExportOptions extends OutputOptions {
  allowPartial?: boolean
  report?: string
  json?: boolean
}

export function exportCommand(program: Command, about: string): void {
  addCommand(
    program,
    'export <names...>',
    about,
    [
      'godwit export alice octo/tools --repositories /srv/git --output migration.tar.gz',
      'godwit export alice --repositories /srv/git --output - | ssh backup "cat > alice.tar.gz"',
      'godwit export alice --repositories /srv/git --one-archive-per-repository --output archives',
    ],
    SETTINGS,
  )
    .usage('OWNER[/NAME]... --repositories DIR --output FILE [settings]')
    .requiredOption(
      '--output <FILE>',
      'file to write, or directory with --one-archive-per-repository; - for standard output',
    )
    .option('--allow-partial', 'skip repositories that cannot be exported')
    .option('--force', 'replace the file if it exists')
    .option(
      '--one-archive-per-repository',
      'write an archive for each repository, to OWNER/NAME.tar.gz in the directory --output',
    )
    .option('--report <FILE>', 'write a report of each repository to this file, as JSON')
    .action(stoppable(runExport))
}

async function runExport(
  signal: AbortSignal,
  names: string[],
  options: ExportOptions,
  command: Command,
): Promise<void> {
  const settings = readCommandConfig(command, SETTINGS)
  if (options.json && options.output === '-')
    throw new UsageError('--json cannot be used when the archive goes to standard output')
  const archive = options.output === '-' ? undefined : resolve(options.output)
  if (options.report && resolve(options.report) === archive)
    throw new UsageError('--report would replace the archive: name another file')
  const output = await chooseOutput(options)
  if (options.report) await refuseExistingFile(resolve(options.report), true)
  const { config, guessed } = settingsForExport(settings, hostname())
  const warnings: string[] = []
  if (guessed)
    warnings.push(
      `records in the archive have addresses at ${guessed}: set --base-url, --web-url or --host-name to use others`,
    )
  const warn = (warning: string) => warnings.push(warning)
  // A configuration file names the directory of the service, which belongs to another user.
  const isDataGiven = ['flag', 'environment'].includes(config.origins.data?.from ?? '')
  const cache = isDataGiven ? join(config.data, 'export') : undefined
  await using dependencies = await openLocalExport(config, { cache, nearby: output.nearby, warn })
  const repositories = await chooseRepositories(dependencies, names, options)
  await output.refuseExisting(repositories)

  using progress = exportProgress(repositories)
  const startedAt = performance.now()
  const results: RepositoryResult[] = []
  const archiveOptions = {
    owner: repositories[0]!.owner,
    repositories,
    allowPartial: options.allowPartial ?? false,
    concurrency: config.concurrency,
    onResult(result: RepositoryResult) {
      results.push(result)
      progress.add(result)
    },
  }
  const archiveDependencies = {
    ...dependencies,
    addresses: addressesFrom(config),
    generator: `godwit ${VERSION}`,
    onWait: (fullName: string, { dueAt, message }: HostUnavailable) =>
      progress.print(`${fullName}: waiting until ${new Date(dueAt).toISOString()}: ${message}`),
  }
  const writeOptions = { onBytes: progress.writing, signal }
  const archives = await output
    .write(archiveDependencies, archiveOptions, writeOptions)
    .catch((error: unknown) => {
      // The progress has shown the reason of each repository.
      if (!(error instanceof ExportFailed)) throw error
      const failed = results.filter((result) => 'reason' in result).length
      throw new UserError(
        `${failed} of ${formatCount(results.length, 'repository')} cannot be exported: ${nothingWritten(options)}`,
      )
    })
  const seconds = (performance.now() - startedAt) / 1000
  const report = exportReport(results, {
    archives,
    seconds,
    warnings,
    installedVersion: config.installedVersion,
  })
  progress.print(report.text())
  if (options.json) printJson(report.json())
  if (options.report) {
    const bytes = Buffer.from(`${JSON.stringify(report.json(), null, 2)}\n`)
    await writeFileAtomically(resolve(options.report), [bytes], { force: true, signal })
  }
}

/** Finds the repositories. An entry that is not a valid repository counts as one that cannot be exported. */
async function chooseRepositories(
  dependencies: LocalExport,
  names: string[],
  options: ExportOptions,
) {
  const { entries, refused } = await findRequestedRepositories(dependencies, names)
  const reasons = refused.map(({ path, reason }) => `${path}: ${reason}`)
  if (reasons.length > 0 && (!options.allowPartial || entries.length === 0))
    throw new UserError([...reasons, nothingWritten(options)].join('\n'))
  for (const reason of reasons) printMessage(`skipped: ${escapeForTerminal(reason)}`)
  const [first] = entries
  if (!first) throw new UserError('the repositories were removed while they were read')
  return metadataForViewer(dependencies.db, { account: first.owner }, entries)
}

const nothingWritten = ({ allowPartial }: ExportOptions): string =>
  `nothing was written; ${allowPartial ? 'no other repository was selected' : 'use --allow-partial to skip these'}`

/** Shows a progress bar on a terminal, and otherwise prints a line for each repository. Disposing clears the bar. */
function exportProgress(repositories: readonly RepositoryMetadata[]) {
  const line = progressLine()
  // An empty repository counts as a step as well.
  const weight = ({ sizeKib }: RepositoryMetadata) => sizeKib + 1
  const total = repositories.reduce((sum, metadata) => sum + weight(metadata), 0)
  let [done, count] = [0, 0]
  return {
    add(result: RepositoryResult) {
      done += weight(result.metadata)
      count += 1
      if (!process.stderr.isTTY || needsAttention(result))
        line.print(formatRepositoryResult(result))
      line.update(done / total, `${count}/${repositories.length} ${fullNameOf(result.metadata)}`)
    },
    writing: (bytes: number) => line.update(undefined, `writing ${formatBytes(bytes)}`),
    print: line.print,
    [Symbol.dispose]: line[Symbol.dispose],
  }
}

interface ExportResult {
  archives: readonly WrittenArchive[]
  seconds: number
  /** Warnings from before the archives were written. */
  warnings: readonly string[]
  installedVersion?: string | undefined
}

/** Describes an export: `json` for the file of --report, `text` for the terminal. */
export function exportReport(
  results: readonly RepositoryResult[],
  { archives, seconds, warnings: earlier, installedVersion }: ExportResult,
) {
  const count = (outcome: RepositoryResult['outcome']) =>
    results.filter((result) => result.outcome === outcome).length
  const [reused, skipped] = [count('reused'), count('skipped')]
  const exported = count('exported') + reused
  const incomplete = results.filter((each) => 'missingLfs' in each && each.missingLfs > 0).length
  const archiveBytes = archives.reduce((sum, { bytes }) => sum + bytes, 0)
  const sizeWarnings = archives.flatMap(({ bytes, repository }) =>
    archiveWarnings(bytes, installedVersion).map((text) =>
      repository ? `${repository.file}: ${text}` : text,
    ),
  )
  const warnings = [...earlier, ...sizeWarnings]
  const byRepository = new Map(archives.map((archive) => [archive.repository?.fullName, archive]))
  return {
    json: () => ({
      total: results.length,
      exported,
      reused,
      incomplete,
      skipped,
      archive_bytes: archiveBytes,
      seconds,
      warnings,
      repositories: results.map((result) =>
        repositoryJson(result, byRepository.get(fullNameOf(result.metadata))),
      ),
    }),
    text: () =>
      [
        ...warnings.map((warning) => escapeForTerminal(`warning: ${warning}`)),
        `${formatCount(results.length, 'repository')}: ${exported} exported (${reused} of them reused), ` +
          `${skipped} skipped${incomplete > 0 ? `, ${incomplete} with missing LFS objects` : ''}; ${formatBytes(archiveBytes)} in ${formatDuration(seconds)}`,
      ].join('\n'),
  }
}

function repositoryJson(result: RepositoryResult, archive: WrittenArchive | undefined) {
  const file = archive?.repository?.file
  const { metadata, outcome } = result
  const { reason, warning, missingLfs, records } =
    'reason' in result
      ? { ...result, warning: null, missingLfs: 0, records: null }
      : { ...result, reason: null }
  return {
    full_name: fullNameOf(metadata),
    outcome,
    reason,
    warning,
    missing_lfs_objects: missingLfs,
    records: records && { as_of: isoTime(records.asOf), losses: records.losses },
    ...(file && { archive: file, archive_bytes: archive.bytes }),
  }
}

/** Whether a person at a terminal should see this result. */
export const needsAttention = (result: RepositoryResult): boolean =>
  'reason' in result || result.warning !== null || (result.records?.losses.length ?? 0) > 0
