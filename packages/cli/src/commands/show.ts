import { join } from 'node:path'
import { archiveOpener } from '@godwit/archive/archive-opener'
import { openReader } from '@godwit/archive/convert'
import { csvLine } from '@godwit/archive/formats/csv'
import { Report } from '@godwit/archive/formats/format'
import { listPeople, listPeopleIn } from '@godwit/archive/list-people'
import { type ArchiveSummary, summarizeArchive } from '@godwit/archive/summarize-archive'
import type { Folder } from '@godwit/archive/tar/read-folder'
import { temporaryGit } from '@godwit/git/temporary-git'
import type { Bytes } from '@godwit/lib/bytes'
import { sumLosses } from '@godwit/lib/findings'
import { formatBytes } from '@godwit/lib/quantities'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { UsageError } from '@godwit/lib/user-error'
import { type Command, Option } from 'commander'
import type { Config } from '../settings/config.ts'
import { addCommandWithoutJson, readCommandConfig } from './command-line.ts'
import {
  type JsonOption,
  print,
  printJson,
  printLosses,
  printMessage,
  printTable,
} from './print.ts'
import { ARCHIVE_OR_STDIN } from './read-people.ts'
import { stoppable } from './stop-signal.ts'
import { tableOf } from './table.ts'

type ShowOptions = JsonOption & { people?: boolean }

export function showCommand(program: Command, about: string): void {
  addCommandWithoutJson(
    program,
    'show',
    about,
    [
      'godwit show migration.tar.gz',
      'godwit show migration.tar.gz --json',
      'godwit show migration.tar.gz --people > people.csv',
    ],
    ['git'],
  )
    .usage('ARCHIVE')
    .argument('<archive>', ARCHIVE_OR_STDIN)
    .addOption(new Option('--json', 'print the summary as JSON').conflicts('people'))
    .option('--people', 'print who wrote how much, as the CSV for convert --people')
    .action(
      stoppable((signal, file: string, options: ShowOptions, command: Command) =>
        options.people
          ? showPeople(readCommandConfig(command, ['git']), file, signal)
          : runShow(file, options, signal),
      ),
    )
}

/** Prints the CSV with an empty column of new logins, for the user to fill in. */
async function showPeople(config: Config<'git'>, file: string, signal: AbortSignal): Promise<void> {
  const open = await archiveOpener(file)
  const listed = await listPeople(open(), signal)
  const { titles, people, warnings } =
    listed ?? (await listExportPeople(config, file, open, signal))
  const lines = [
    ['old-login', 'new-login', 'account-id', 'email', ...titles],
    ...people.map(({ login, wrote }) => [login, '', '', '', ...wrote]),
  ]
  print(lines.map(csvLine).join('').trimEnd())
  for (const warning of warnings) printMessage(escapeForTerminal(`warning: ${warning}`))
}

/** Reads a project export of GitLab, which must be unpacked for that. */
async function listExportPeople(
  config: Config<'git'>,
  file: string,
  open: () => Bytes | Folder,
  signal: AbortSignal,
) {
  if (file === '-')
    throw new UsageError('an export of GitLab is read twice: give a file, not standard input')
  await using temporary = await temporaryGit(config, 'show')
  using resources = new DisposableStack()
  const warnings: string[] = []
  const report = new Report((text) => warnings.push(text))
  const names = { name: file, owner: 'gitlab', people: new Map(), projects: new Map() }
  const dependencies = { git: temporary.git, report, resources, wanted: new Set<string>(), signal }
  const content = await openReader(open(), join(temporary.path, 'input'), {
    ...names,
    ...dependencies,
  })
  return { ...(await listPeopleIn(content)), warnings }
}

async function runShow(file: string, { json }: JsonOption, signal: AbortSignal): Promise<void> {
  const open = await archiveOpener(file)
  const { summary, damage } = await summarizeArchive(
    open(),
    signal,
    file === '-' ? undefined : file,
  )
  if (damage && summary.entries === 0) throw damage
  if (json) printJson(summary)
  else printSummary(summary)
  if (damage) throw damage
}

function printSummary(summary: ArchiveSummary): void {
  const { attachments, lfs, records, repositories } = summary
  const about: [name: string, value: string][] = [
    ['created by', summary.made_by],
    ['created', summary.made_at ?? 'unknown'],
    ['schema', summary.schema_version ?? 'unknown'],
    ['migration', summary.migration_guid ?? 'unknown'],
    ['manifest', summary.has_manifest ? 'yes' : 'no'],
    ['unpacked', `${formatBytes(summary.bytes)} in ${summary.entries} entries`],
    ['repositories', String(repositories.length)],
    ['attachments', `${attachments.files} files, ${formatBytes(attachments.bytes)}`],
    ['LFS', `${lfs.objects} objects, ${formatBytes(lfs.bytes)}`],
  ]
  for (const [name, value] of about) print(`${name.padEnd(13)} ${escapeForTerminal(value)}`)
  if (repositories.length > 0) printRepositories(repositories)
  const counts = Object.entries(records)
  if (counts.length > 0) {
    print('')
    printTable(tableOf(counts, { RECORDS: ([kind]) => kind, COUNT: ([, count]) => count }))
  }
  printLosses('NOT IN THE ARCHIVE', sumLosses(summary.losses))
  for (const { full_name, reason } of summary.skipped)
    printMessage(escapeForTerminal(`skipped when it was created: ${full_name}: ${reason}`))
  for (const warning of summary.warnings) printMessage(escapeForTerminal(`warning: ${warning}`))
}

function printRepositories(repositories: ArchiveSummary['repositories']): void {
  print('')
  const table = tableOf(repositories, {
    REPOSITORY: ({ full_name }) => full_name,
    SIZE: ({ bytes }) => formatBytes(bytes),
    BRANCHES: ({ branches }) => branches,
    TAGS: ({ tags }) => tags,
    'OTHER REFS': ({ other_refs }) => other_refs,
    'DEFAULT BRANCH': ({ default_branch }) => default_branch,
    WIKI: ({ has_wiki }) => (has_wiki ? 'yes' : '-'),
    LFS: (each) =>
      each.lfs_objects > 0 ? `${each.lfs_objects}, ${formatBytes(each.lfs_bytes)}` : '-',
  })
  printTable(table)
}
