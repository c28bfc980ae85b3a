import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { createGit } from '../git/git.ts'
import { verifyArchive } from '../importer/verify-archive.ts'
import { writingTo } from '../lib/disk-errors.ts'
import { escapeForTerminal } from '../lib/terminal-text.ts'
import { UserError } from '../lib/user-error.ts'
import type { Config } from '../settings/config.ts'
import { archiveAt } from './archive-file.ts'
import { addCommand, print, settingsOf, withExamples } from './command-line.ts'
import { untilStopped } from './stop-signal.ts'

export function verifyCommand(program: Command, about: string): void {
  const command = addCommand(program, 'verify <archive>', about).usage(
    'ARCHIVE (a file, a directory it was unpacked into, or - for standard input)',
  )
  withExamples(command, 'godwit verify migration.tar.gz', 'godwit verify - < migration.tar.gz')
  command.action((file: string, _options, command: Command) =>
    untilStopped((signal) => verifyFile(settingsOf(command), file, signal, print)),
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
    const open = await archiveAt(file)
    const count = { faults: 0, warnings: 0, notes: 0, whole: 0 }
    let compared = false
    const parts = { git, directory, file: file === '-' ? undefined : file }
    await writingTo(directory, async () => {
      for await (const finding of verifyArchive(parts, open(), signal)) {
        if ('compared' in finding) {
          compared = finding.compared
          continue
        }
        const { count: stands = 1, ...told } = { count: 1, ...finding }
        const [[kind, text]] = Object.entries(told) as [[keyof typeof WORDS, string]]
        count[WORDS[kind]] += stands
        say(escapeForTerminal(`${LABELS[kind]}: ${text}`))
      }
    })
    if (count.faults > 0)
      throw new UserError(
        `${file} has ${count.faults === 1 ? '1 error' : `${count.faults} errors`}`,
      )
    say(verdict(file, count, compared))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const WORDS = { fault: 'faults', warning: 'warnings', note: 'notes', whole: 'whole' } as const
const LABELS = { fault: 'error', warning: 'warning', note: 'note', whole: 'verified' } as const

function verdict(
  file: string,
  { warnings, whole }: { warnings: number; whole: number },
  compared: boolean,
): string {
  const repositories = `${whole} ${whole === 1 ? 'repository' : 'repositories'}`
  const besides = warnings > 0 ? `; ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}` : ''
  return compared
    ? `${file} is intact: ${repositories} verified${besides}`
    : `${file}: ${repositories} verified; no manifest, so the bytes were not compared${besides}`
}
