import { resolve } from 'node:path'
import type { Command } from 'commander'
import { type Restored, type RestoreEvent, restoreArchive } from '../importer/restore-archive.ts'
import { withWriteContext } from '../lib/disk-errors.ts'
import { formatRecordCount } from '../lib/losses.ts'
import { formatCount } from '../lib/quantities.ts'
import { escapeForTerminal } from '../lib/terminal-text.ts'
import { UsageError, UserError } from '../lib/user-error.ts'
import type { Config } from '../settings/config.ts'
import { archiveOpener } from './archive-file.ts'
import { addCommand, readCommandConfig } from './command-line.ts'
import { print, printJson } from './print.ts'
import { runUntilStopped } from './stop-signal.ts'
import { temporaryGit } from './temporary-directory.ts'

interface RestoreOptions {
  into: string
  strict?: boolean
  json?: boolean
}

export function restoreCommand(program: Command, about: string): void {
  addCommand(
    program,
    'restore <archive>',
    about,
    'godwit restore migration.tar.gz --into /srv/restored',
  )
    .usage('ARCHIVE --into DIR')
    .requiredOption('--into <DIR>', 'directory to restore to, as OWNER/NAME.git')
    .option('--strict', 'fail if some data of the archive could not be restored')
    .option('--json', 'print the results as JSON')
    .action((file: string, options: RestoreOptions, command: Command) =>
      runUntilStopped(async (signal) => {
        const report = new RestoreReport(options.json ?? false)
        try {
          await runRestore(readCommandConfig(command), { file, options, report }, signal)
        } finally {
          report.finish()
        }
      }),
    )
}

/** Prints what happens as lines, or as one JSON value at the end. */
class RestoreReport {
  readonly #restored: string[] = []
  readonly #failed: { full_name: string; errors: readonly string[] }[] = []
  readonly #notes: string[] = []
  readonly #isJson: boolean

  constructor(isJson: boolean) {
    this.#isJson = isJson
  }

  note(line: string): void {
    this.#notes.push(line)
    if (!this.#isJson) print(escapeForTerminal(line))
  }

  /** Reports an event and returns the number of its lines: each is data that was not restored in full. */
  event(event: RestoreEvent): number {
    const lines = formatEvent(event)
    for (const line of lines) this.note(line)
    return lines.length
  }

  /** Reports all results and returns how many repositories failed. */
  async add(results: AsyncIterable<Restored>): Promise<number> {
    for await (const { fullName, errors } of results) {
      if (errors.length > 0) this.#failed.push({ full_name: fullName, errors })
      else {
        this.#restored.push(fullName)
        if (!this.#isJson) print(`restored: ${escapeForTerminal(fullName)}`)
      }
      if (!this.#isJson)
        for (const error of errors) print(escapeForTerminal(`failed: ${fullName}: ${error}`))
    }
    return this.#failed.length
  }

  finish(): void {
    if (this.#isJson)
      printJson({ restored: this.#restored, failed: this.#failed, notes: this.#notes })
  }
}

interface Restore {
  file: string
  options: RestoreOptions
  report: RestoreReport
}

async function runRestore(
  config: Config,
  { file, options, report }: Restore,
  signal: AbortSignal,
): Promise<void> {
  if (file === '-')
    throw new UsageError('restore reads the archive twice: give a file, not standard input')
  await using temporary = await temporaryGit(config, 'restore')
  const { git } = temporary
  const open = await archiveOpener(file)
  const into = resolve(options.into)
  let warnings = 0
  const onEvent = (event: RestoreEvent) => {
    warnings += report.event(event)
  }
  const failed = await withWriteContext(into, () =>
    report.add(restoreArchive({ git, open, into, onEvent }, signal)),
  )
  if (failed > 0)
    throw new UserError(
      `${formatCount(failed, 'repository', 'repositories')} could not be restored; the others are in ${into}`,
    )
  if (options.strict && warnings > 0)
    throw new UserError(
      `some data could not be restored (--strict); the restored repositories are in ${into}`,
    )
}

function formatEvent(event: RestoreEvent): string[] {
  if ('warning' in event) return [`warning: ${event.warning}`]
  return event.leftBehind.map(([kind, count]) => `skipped: ${formatRecordCount(kind, count)}`)
}
