import { tmpdir } from 'node:os'
import { dirname, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import type { ArchivePlan } from '../archive/plan-archive.ts'
import { readArchive } from '../archive/read-archive.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Config } from '../config.ts'
import { ExportFailed, exportArchive, type RepositoryEnd } from '../exporter/export-archive.ts'
import { harmless } from '../ground/terminal-text.ts'
import { addressesFrom } from '../repositories/addresses.ts'
import type { RepositoryFacts } from '../repositories/facts.ts'
import { factsForViewer } from '../repositories/facts-for-viewer.ts'
import { type LocalExport, openLocalExport } from '../service/local-export.ts'
import { VERSION } from '../service/version.ts'
import { Misuse, UserMistake } from '../user-mistake.ts'
import { askedRepositories } from './asked-repositories.ts'
import { addCommand, configOf, note, withExamples } from './command-line.ts'
import { exportProgress } from './export-progress.ts'
import { type ExportReport, exportReport } from './export-report.ts'
import { untilStopped } from './until-stopped.ts'
import { refuseTaken, writeWholeFile } from './whole-file.ts'

const STANDARD_OUTPUT = '-'

interface ExportOptions {
  output: string
  allowPartial?: boolean
  force?: boolean
  report?: string
}

export function exportCommand(program: Command, about: string): void {
  const command = addCommand(program, 'export <names...>', about)
  withExamples(
    command,
    'godwit export alice octo/tools --repositories /srv/git --output migration.tar.gz',
    'godwit export alice --repositories /srv/git --output - | ssh backup "cat > alice.tar.gz"',
  )
  command
    .usage('OWNER[/NAME]... --repositories DIR --output FILE [settings]')
    .requiredOption('--output <FILE>', 'file to write; - for standard output')
    .option('--allow-partial', 'skip repositories that cannot be exported')
    .option('--force', 'replace the file if it exists')
    .option('--report <FILE>', 'write a report of each repository to this file, as JSON')
    .action((names: string[], options: ExportOptions, command: Command) =>
      untilStopped((signal) => runExport(configOf(command), names, options, signal)),
    )
}

async function runExport(
  config: Config,
  names: string[],
  options: ExportOptions,
  signal: AbortSignal,
): Promise<void> {
  const output = options.output === STANDARD_OUTPUT ? undefined : resolve(options.output)
  if (output) await refuseTaken(output, options.force ?? false)
  else if (process.stdout.isTTY)
    throw new Misuse('an archive cannot be written to a terminal: use --output FILE')
  await using parts = await openLocalExport(config, output ? dirname(output) : tmpdir())
  const repositories = await chosen(parts, names, options)

  using progress = exportProgress(process.stderr, repositories)
  const startedAt = performance.now()
  const ends: RepositoryEnd[] = []
  await using archive = await exportArchive(
    { ...parts, addresses: addressesFrom(config), generator: `godwit ${VERSION}` },
    {
      owner: repositories[0]!.owner,
      repositories,
      allowPartial: options.allowPartial ?? false,
      concurrency: config.concurrency,
      onEnd(end) {
        ends.push(end)
        progress.ended(end)
      },
    },
    signal,
  ).catch((error: unknown) => {
    throw error instanceof ExportFailed ? cannotExport(error.message, options) : error
  })
  const bytes = counted(archive.plan, parts.blobs, progress.writing, signal)
  if (output) await writeWholeFile(output, bytes, { force: options.force ?? false, signal })
  else await pipeline(bytes, process.stdout, { signal, end: false })
  const seconds = (performance.now() - startedAt) / 1000
  const report = exportReport(ends, { archiveBytes: archive.plan.length, seconds })
  progress.say(report.text())
  if (options.report) await writeReport(options.report, report, signal)
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
  for (const reason of reasons) note(`skipped: ${harmless(reason)}`)
  const [first] = entries
  if (!first) throw new UserMistake('the repositories were removed while they were read')
  return factsForViewer(parts.db, { account: first.owner, tokenId: 0 }, entries)
}

function cannotExport(reasons: string, { allowPartial }: ExportOptions): UserMistake {
  const next = allowPartial
    ? 'no other repository was selected'
    : 'use --allow-partial to skip these'
  return new UserMistake(`${reasons}\nnothing was written; ${next}`)
}

async function* counted(
  plan: ArchivePlan,
  blobs: BlobStore,
  onBytes: (written: number) => void,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let written = 0
  for await (const bytes of readArchive(plan, blobs, undefined, { signal })) {
    yield bytes
    written += bytes.length
    onBytes(written)
  }
}
