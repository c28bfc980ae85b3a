import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { verifyArchive } from '../importer/verify-archive.ts'
import { createGit } from '../sources/git.ts'
import { archiveFile } from './archive-file.ts'
import { addCommand, configOf, print, UserMistake } from './command-line.ts'
import { untilStopped } from './until-stopped.ts'

export function verifyCommand(program: Command): void {
  addCommand(program, 'verify <file>', 'proves an archive whole, or names what is wrong with it')
    .usage('FILE (- for standard input)')
    .action((file: string, _options, command: Command) =>
      untilStopped((signal) => runVerify(configOf(command), file, signal)),
    )
}

async function runVerify(
  { git: program, searchPath }: Config,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'godwit-verify-'))
  try {
    const git = createGit({ program, searchPath, home: join(directory, 'git-home') })
    let [faults, whole] = [0, 0]
    const parts = { git, directory, file: file === '-' ? undefined : file }
    for await (const finding of verifyArchive(parts, archiveFile(file), signal)) {
      if ('fault' in finding) {
        faults += 1
        print(`fault: ${finding.fault}`)
      } else if ('note' in finding) {
        print(`note: ${finding.note}`)
      } else {
        whole += 1
        print(`whole: ${finding.whole}`)
      }
    }
    if (faults > 0)
      throw new UserMistake(`${file} has ${faults === 1 ? 'a fault' : `${faults} faults`}`)
    print(`${file} is whole: ${whole} ${whole === 1 ? 'repository' : 'repositories'}`)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
