import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { createGit } from '../git/git.ts'
import { type RestoreEvents, restoreArchive } from '../importer/restore-archive.ts'
import { writingTo } from '../lib/disk-errors.ts'
import { escapeForTerminal } from '../lib/terminal-text.ts'
import { UsageError, UserError } from '../lib/user-error.ts'
import { countInWords } from '../records/record-file.ts'
import type { Config } from '../settings/config.ts'
import { archiveAt } from './archive-file.ts'
import { addCommand, print, settingsOf, withExamples } from './command-line.ts'
import { type DumpOptions, runDump } from './restore/dump.ts'
import { untilStopped } from './stop-signal.ts'

interface RestoreOptions extends DumpOptions {
  as?: string
}

export function restoreCommand(program: Command, about: string): void {
  const command = addCommand(program, 'restore <archive> [repositories...]', about)
  withExamples(
    command,
    'godwit restore migration.tar.gz --into /srv/restored',
    'godwit restore migration.tar.gz --as gitea-dump --into /srv/dumps --people people.csv',
  )
  command
    .usage(
      'ARCHIVE --into DIR [--as gitea-dump [OWNER/NAME...]] (a file, or a directory it was unpacked into)',
    )
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
    .action((file: string, repositories: string[], options: RestoreOptions, command: Command) =>
      untilStopped((signal) =>
        runRestore(settingsOf(command), file, repositories, options, signal),
      ),
    )
}

async function runRestore(
  { git: program, searchPath }: Config,
  file: string,
  repositories: string[],
  options: RestoreOptions,
  signal: AbortSignal,
): Promise<void> {
  if (file === '-')
    throw new UsageError('restore reads the archive twice: give a file, not standard input')
  const { people, keepLinks, target } = options
  if (options.as === undefined && (people ?? keepLinks ?? target ?? repositories[0]) !== undefined)
    throw new UsageError(
      '--people, --keep-links, --target and names of repositories need --as gitea-dump',
    )
  const home = await mkdtemp(join(tmpdir(), 'godwit-restore-'))
  try {
    const git = createGit({ program, searchPath, home })
    const open = await archiveAt(file)
    await writingTo(resolve(options.into), () =>
      options.as !== undefined
        ? runDump({ git, open }, repositories, options, signal)
        : runPlain({ git, open }, options, signal),
    )
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

async function runPlain(
  parts: Pick<Parameters<typeof restoreArchive>[0], 'git' | 'open'>,
  { into, strict = false }: RestoreOptions,
  signal: AbortSignal,
): Promise<void> {
  const place = resolve(into)
  let [failed, warnings] = [0, 0]
  const tell = (news: RestoreEvents) => {
    const lines = newsInWords(news)
    warnings += lines.length
    for (const line of lines) print(escapeForTerminal(line))
  }
  for await (const { fullName, faults } of restoreArchive(
    { ...parts, into: place, tell },
    signal,
  )) {
    if (faults.length === 0) print(`restored: ${escapeForTerminal(fullName)}`)
    else failed += 1
    for (const fault of faults) print(escapeForTerminal(`failed: ${fullName}: ${fault}`))
  }
  if (failed > 0)
    throw new UserError(
      `${failed} ${failed === 1 ? 'repository' : 'repositories'} could not be restored; the others are in ${place}`,
    )
  if (strict && warnings > 0)
    throw new UserError(
      `some data could not be restored (--strict); the restored repositories are in ${place}`,
    )
}

function newsInWords(news: RestoreEvents): string[] {
  if ('warning' in news) return [`warning: ${news.warning}`]
  return news.leftBehind.map(([kind, count]) => `skipped: ${countInWords(kind, count)}`)
}
