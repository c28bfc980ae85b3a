import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { Written } from '../formats/format.ts'
import { createGit } from '../git/git.ts'
import { type RestoreEvent, restoreArchive } from '../importer/restore-archive.ts'
import { withWriteContext } from '../lib/disk-errors.ts'
import { formatRecordCount } from '../lib/losses.ts'
import { formatCount } from '../lib/quantities.ts'
import { escapeForTerminal } from '../lib/terminal-text.ts'
import { UsageError, UserError } from '../lib/user-error.ts'
import type { Config } from '../settings/config.ts'
import { archiveOpener } from './archive-file.ts'
import { addCommand, print, printJson, readCommandConfig } from './command-line.ts'
import { runUntilStopped } from './stop-signal.ts'
import { temporaryDirectory } from './temporary-directory.ts'

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
  async add(results: AsyncIterable<Written>): Promise<number> {
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
  { git: program, searchPath }: Config,
  { file, options, report }: Restore,
  signal: AbortSignal,
): Promise<void> {
  if (file === '-')
    throw new UsageError('restore reads the archive twice: give a file, not standard input')
  await using home = await temporaryDirectory(join(tmpdir(), 'godwit-restore-'))
  const git = createGit({ program, searchPath, home: home.path })
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
