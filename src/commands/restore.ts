import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { createGit } from '../git/git.ts'
import { harmless } from '../ground/terminal-text.ts'
import { type RestoreNews, restoreArchive } from '../importer/restore-archive.ts'
import { countInWords } from '../records/record-file.ts'
import { Misuse, UserMistake } from '../user-mistake.ts'
import { archiveAt } from './archive-file.ts'
import { addCommand, configOf, print, withExamples } from './command-line.ts'
import { untilStopped } from './until-stopped.ts'

interface RestoreOptions {
  into: string
  strict?: boolean
}

export function restoreCommand(program: Command, about: string): void {
  const command = addCommand(program, 'restore <archive>', about)
  withExamples(command, 'godwit restore migration.tar.gz --into /srv/restored')
  command
    .usage('ARCHIVE --into DIR (a file, or a directory it was unpacked into)')
    .requiredOption('--into <DIR>', 'directory to restore to, as OWNER/NAME.git')
    .option('--strict', 'fail if some data of the archive could not be restored')
    .action((file: string, options: RestoreOptions, command: Command) =>
      untilStopped((signal) => runRestore(configOf(command), file, options, signal)),
    )
}

async function runRestore(
  { git: program, searchPath }: Config,
  file: string,
  { into, strict = false }: RestoreOptions,
  signal: AbortSignal,
): Promise<void> {
  if (file === '-')
    throw new Misuse('restore reads the archive twice: give a file, not standard input')
  const home = await mkdtemp(join(tmpdir(), 'godwit-restore-'))
  try {
    const git = createGit({ program, searchPath, home })
    const place = resolve(into)
    let [failed, warnings] = [0, 0]
    const tell = (news: RestoreNews) => {
      const lines = newsInWords(news)
      warnings += lines.length
      for (const line of lines) print(harmless(line))
    }
    const parts = { git, open: await archiveAt(file), into: place, tell }
    for await (const { fullName, faults } of restoreArchive(parts, signal)) {
      if (faults.length === 0) print(`restored: ${harmless(fullName)}`)
      else failed += 1
      for (const fault of faults) print(harmless(`failed: ${fullName}: ${fault}`))
    }
    if (failed > 0)
      throw new UserMistake(
        `${failed} ${failed === 1 ? 'repository' : 'repositories'} could not be restored; the others are in ${place}`,
      )
    if (strict && warnings > 0)
      throw new UserMistake(
        `some data could not be restored (--strict); the restored repositories are in ${place}`,
      )
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

function newsInWords(news: RestoreNews): string[] {
  if ('warning' in news) return [`warning: ${news.warning}`]
  return news.leftBehind.map(([kind, count]) => `skipped: ${countInWords(kind, count)}`)
}
