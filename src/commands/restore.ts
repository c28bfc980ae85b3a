import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { createGit } from '../git/git.ts'
import { harmless } from '../ground/terminal-text.ts'
import { restoreArchive } from '../importer/restore-archive.ts'
import { Misuse, UserMistake } from '../user-mistake.ts'
import { archiveFile } from './archive-file.ts'
import { addCommand, configOf, print, withExamples } from './command-line.ts'
import { untilStopped } from './until-stopped.ts'

interface RestoreOptions {
  into: string
}

export function restoreCommand(program: Command, about: string): void {
  const command = addCommand(program, 'restore <file>', about)
  withExamples(command, 'godwit restore migration.tar.gz --into /srv/restored')
  command
    .usage('FILE --into DIR')
    .requiredOption('--into <DIR>', 'the git host that they go to, as OWNER/NAME.git')
    .action((file: string, { into }: RestoreOptions, command: Command) =>
      untilStopped((signal) => runRestore(configOf(command), file, resolve(into), signal)),
    )
}

async function runRestore(
  { git: program, searchPath }: Config,
  file: string,
  into: string,
  signal: AbortSignal,
): Promise<void> {
  if (file === '-') throw new Misuse('the archive is read twice, so it must be a file')
  const home = await mkdtemp(join(tmpdir(), 'godwit-restore-'))
  try {
    const git = createGit({ program, searchPath, home })
    const open = () => archiveFile(file)
    let failed = 0
    for await (const { fullName, faults } of restoreArchive({ git, open, into }, signal)) {
      if (faults.length === 0) print(`restored: ${harmless(fullName)}`)
      else failed += 1
      for (const fault of faults) print(`not restored: ${harmless(fullName)}: ${harmless(fault)}`)
    }
    if (failed > 0)
      throw new UserMistake(
        `${failed} of the repositories could not be restored; the others are in ${into}`,
      )
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}
