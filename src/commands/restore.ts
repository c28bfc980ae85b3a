import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { createGit } from '../git/git.ts'
import { type PeopleMap, parsePeopleCsv } from '../importer/people.ts'
import { type Restored, type RestoreEvent, restoreArchive } from '../importer/restore-archive.ts'
import {
  accountRefusal,
  type DumpEvent,
  type DumpParts,
  dumpForGitea,
} from '../importer/targets/gitea-dump.ts'
import { withWriteContext } from '../lib/disk-errors.ts'
import { formatCount } from '../lib/quantities.ts'
import { escapeForTerminal } from '../lib/terminal-text.ts'
import { UsageError, UserError } from '../lib/user-error.ts'
import { formatRecordCount } from '../records/record-file.ts'
import type { Config } from '../settings/config.ts'
import { archiveOpener } from './archive-file.ts'
import { addCommand, print, printJson, readCommandConfig } from './command-line.ts'
import { runUntilStopped } from './stop-signal.ts'
import { temporaryDirectory } from './temporary-directory.ts'

interface RestoreOptions {
  into: string
  strict?: boolean
  as?: string
  people?: string
  keepLinks?: boolean
  target?: string
  json?: boolean
}

export function restoreCommand(program: Command, about: string): void {
  addCommand(
    program,
    'restore <archive> [repositories...]',
    about,
    'godwit restore migration.tar.gz --into /srv/restored',
    'godwit restore migration.tar.gz --as gitea-dump --into /srv/dumps --people people.csv',
  )
    .usage('ARCHIVE --into DIR [--as gitea-dump [OWNER/NAME...]]')
    .requiredOption(
      '--into <DIR>',
      'directory to restore to, as OWNER/NAME.git; dumps as OWNER/NAME',
    )
    .option('--strict', 'fail if some data of the archive could not be restored')
    .addOption(
      new Option(
        '--as <FORMAT>',
        'gitea-dump: directories for restore-repo of Gitea or Forgejo, and a script that runs it',
      ).choices(['gitea-dump']),
    )
    .option('--people <CSV>', 'with --as: file of old-login,new-login; see godwit show --people')
    .option('--keep-links', 'with --as: leave links to the old host in texts as they are')
    .option('--target <URL>', 'with --as: base URL of the new server, for links and accounts')
    .option('--json', 'print the results as JSON')
    .action((file: string, repositories: string[], options: RestoreOptions, command: Command) =>
      runUntilStopped(async (signal) => {
        const report = new RestoreReport(options.json ?? false)
        try {
          await runRestore(
            readCommandConfig(command),
            { file, repositories, options, report },
            signal,
          )
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
  event(event: RestoreEvent | DumpEvent): number {
    const lines = formatEvent(event)
    for (const line of lines) this.note(line)
    return lines.length
  }

  /** Reports all results. */
  async add<T extends Restored>(results: AsyncIterable<T>) {
    const restored: T[] = []
    for await (const result of results) {
      const { fullName, errors } = result
      if (errors.length > 0) this.#failed.push({ full_name: fullName, errors })
      else {
        restored.push(result)
        this.#restored.push(fullName)
        if (!this.#isJson) print(`restored: ${escapeForTerminal(fullName)}`)
      }
      if (!this.#isJson)
        for (const error of errors) print(escapeForTerminal(`failed: ${fullName}: ${error}`))
    }
    return { restored, failed: this.#failed.length }
  }

  finish(): void {
    if (this.#isJson)
      printJson({ restored: this.#restored, failed: this.#failed, notes: this.#notes })
  }
}

interface Restore {
  file: string
  repositories: string[]
  options: RestoreOptions
  report: RestoreReport
}

async function runRestore(
  { git: program, searchPath }: Config,
  { file, repositories, options, report }: Restore,
  signal: AbortSignal,
): Promise<void> {
  if (file === '-')
    throw new UsageError('restore reads the archive twice: give a file, not standard input')
  const { people, keepLinks, target } = options
  if (options.as === undefined && (people ?? keepLinks ?? target ?? repositories[0]) !== undefined)
    throw new UsageError(
      '--people, --keep-links, --target and names of repositories need --as gitea-dump',
    )
  await using home = await temporaryDirectory(join(tmpdir(), 'godwit-restore-'))
  const git = createGit({ program, searchPath, home: home.path })
  const open = await archiveOpener(file)
  await withWriteContext(resolve(options.into), () =>
    options.as !== undefined
      ? runDump({ git, open, report }, repositories, options, signal)
      : restoreRepositories({ git, open, report }, options, signal),
  )
}

async function restoreRepositories(
  { report, ...parts }: Pick<DumpParts, 'git' | 'open'> & Pick<Restore, 'report'>,
  { into, strict = false }: RestoreOptions,
  signal: AbortSignal,
): Promise<void> {
  const directory = resolve(into)
  let warnings = 0
  const onEvent = (event: RestoreEvent) => {
    warnings += report.event(event)
  }
  const results = restoreArchive({ ...parts, into: directory, onEvent }, signal)
  const { failed } = await report.add(results)
  if (failed > 0)
    throw new UserError(
      `${formatCount(failed, 'repository', 'repositories')} could not be restored; the others are in ${directory}`,
    )
  if (strict && warnings > 0)
    throw new UserError(
      `some data could not be restored (--strict); the restored repositories are in ${directory}`,
    )
}

/** Runs `restore --as gitea-dump`. */
async function runDump(
  { report, ...parts }: Pick<DumpParts, 'git' | 'open'> & Pick<Restore, 'report'>,
  repositories: string[],
  { into, strict = false, people: file, keepLinks = false, target }: RestoreOptions,
  signal: AbortSignal,
): Promise<void> {
  const directory = resolve(into)
  if (/[%?#]/.test(directory))
    throw new UsageError(
      `restore-repo reads files by URL: ${directory} must not have %, ? or # in it`,
    )
  const options = { repositories, keepLinks, target: baseUrl(target) }
  const people = await readPeopleFile(file, report)
  if (options.target === '' && [...people.values()].some(({ id }) => id !== undefined))
    report.note('warning: account-id is used only with --target: all authors stay original authors')
  let skipped = 0
  const onEvent = (event: DumpEvent) => {
    skipped += report.event(event)
  }
  const results = dumpForGitea({ ...parts, ...options, into: directory, people, onEvent }, signal)
  const { restored, failed } = await report.add(results)
  if (restored.length > 0) report.note(`next: run ${join(directory, 'restore.sh')} on the server`)
  const privateCount = restored.filter(({ isPrivate }) => isPrivate).length
  if (privateCount > 0)
    report.note(
      `${formatCount(privateCount, 'private repository', 'private repositories')}: restore-repo would make ${privateCount === 1 ? 'it' : 'them'} public; restore.sh says what it needs`,
    )
  if (failed > 0)
    throw new UserError(
      `${failed} of ${failed + restored.length} repositories could not be restored`,
    )
  if (strict && skipped > 0)
    throw new UserError(`some data could not be restored (--strict); the dumps are in ${directory}`)
}

async function readPeopleFile(file: string | undefined, report: RestoreReport): Promise<PeopleMap> {
  if (file === undefined) return new Map()
  const { people, warnings } = parsePeopleCsv(await readFile(file, 'utf8'), accountRefusal)
  for (const warning of warnings) report.note(`warning: ${file}, ${warning}`)
  return people
}

function baseUrl(target: string | undefined): string {
  if (target === undefined) return ''
  if (!/^https?:$/.test(URL.parse(target)?.protocol ?? ''))
    throw new UsageError(`--target must be an http or https URL, not ${JSON.stringify(target)}`)
  return target.replace(/\/*$/, '/')
}

function formatEvent(event: RestoreEvent | DumpEvent): string[] {
  if ('warning' in event) return [`warning: ${event.warning}`]
  if ('attachments' in event)
    return [
      `beside the dump: ${formatRecordCount('attachments', event.attachments)} in ${event.directory}, listed in attachments.csv`,
    ]
  return event.leftBehind.map(([kind, count]) => `skipped: ${formatRecordCount(kind, count)}`)
}
