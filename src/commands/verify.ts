import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { createGit } from '../git/git.ts'
import { harmless } from '../ground/terminal-text.ts'
import { verifyArchive } from '../importer/verify-archive.ts'
import { UserMistake } from '../user-mistake.ts'
import { archiveFile } from './archive-file.ts'
import { addCommand, configOf, print, withExamples } from './command-line.ts'
import { untilStopped } from './until-stopped.ts'

export function verifyCommand(program: Command, about: string): void {
  const command = addCommand(program, 'verify <file>', about).usage('FILE (- for standard input)')
  withExamples(command, 'godwit verify migration.tar.gz', 'godwit verify - < migration.tar.gz')
  command.action((file: string, _options, command: Command) =>
    untilStopped((signal) => verifyFile(configOf(command), file, signal, print)),
  )
}

export async function verifyFile(
  { git: program, searchPath }: Pick<Config, 'git' | 'searchPath'>,
  file: string,
  signal: AbortSignal,
  say: (text: string) => void,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'godwit-verify-'))
  try {
    const git = createGit({ program, searchPath, home: join(directory, 'git-home') })
    let [faults, whole] = [0, 0]
    const parts = { git, directory, file: file === '-' ? undefined : file }
    for await (const finding of verifyArchive(parts, archiveFile(file), signal)) {
      if ('fault' in finding) {
        faults += 1
        say(`fault: ${harmless(finding.fault)}`)
      } else if ('note' in finding) {
        say(`note: ${harmless(finding.note)}`)
      } else {
        whole += 1
        say(`whole: ${harmless(finding.whole)}`)
      }
    }
    if (faults > 0)
      throw new UserMistake(`${file} has ${faults === 1 ? 'a fault' : `${faults} faults`}`)
    say(`${file} is whole: ${whole} ${whole === 1 ? 'repository' : 'repositories'}`)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
