import { archiveOpener } from '@godwit/archive/archive-opener'
import { verifyArchive } from '@godwit/archive/verify-archive'
import { temporaryGit } from '@godwit/git/temporary-git'
import { withWriteContext } from '@godwit/lib/disk-errors'
import { formatCount, formatNumber } from '@godwit/lib/quantities'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { UserError } from '@godwit/lib/user-error'
import type { Command } from 'commander'
import type { Config } from '../settings/config.ts'
import { addCommand, readCommandConfig } from './command-line.ts'
import { type JsonOption, print, printJson } from './print.ts'
import { ARCHIVE_OR_STDIN } from './read-people.ts'
import { stoppable } from './stop-signal.ts'

export function verifyCommand(program: Command, about: string): void {
  addCommand(
    program,
    'verify',
    about,
    ['godwit verify migration.tar.gz', 'godwit verify - < migration.tar.gz'],
    ['git'],
  )
    .usage('ARCHIVE')
    .argument('<archive>', ARCHIVE_OR_STDIN)
    .action(
      stoppable(async (signal, file: string, { json }: JsonOption, command: Command) => {
        const findings: { level: string; text: string }[] = []
        const report = (level: string, text: string) =>
          json ? findings.push({ level, text }) : print(formatFinding(level, text))
        try {
          await verifyFile(readCommandConfig(command, ['git']), file, signal, report)
        } finally {
          if (json) printJson(findings)
        }
      }),
    )
}

export const formatFinding = (level: string, text: string): string =>
  escapeForTerminal(level === 'result' ? text : `${level}: ${text}`)

/** Calls `report` for each finding and for the result. Throws if the archive has errors. */
export async function verifyFile(
  config: Pick<Config<'git'>, 'git' | 'searchPath'>,
  file: string,
  signal: AbortSignal,
  report: (level: string, text: string) => void,
): Promise<void> {
  await using temporary = await temporaryGit(config, 'verify')
  const { git, path: directory } = temporary
  const open = await archiveOpener(file)
  const counts = { error: 0, warning: 0, note: 0, verified: 0, partial: 0 }
  let compared = false
  const dependencies = { git, directory, file: file === '-' ? undefined : file }
  await withWriteContext(directory, async () => {
    for await (const finding of verifyArchive(dependencies, open(), signal)) {
      if ('compared' in finding) compared = finding.compared
      else {
        counts[finding.level] += finding.count
        report(finding.level, finding.text)
      }
    }
  })
  const name = file === '-' ? 'standard input' : file
  if (counts.error > 0) throw new UserError(`${name} has ${formatCount(counts.error, 'error')}`)
  report('result', describeResult(name, counts, compared))
}

function describeResult(
  name: string,
  { warning, verified, partial }: { warning: number; verified: number; partial: number },
  compared: boolean,
): string {
  const missing = partial > 0 ? `, ${formatNumber(partial)} with missing LFS objects` : ''
  const repositories = `${formatCount(verified, 'repository')} verified${missing}`
  const warnings = warning > 0 ? `; ${formatCount(warning, 'warning')}` : ''
  return compared
    ? `${name} is intact: ${repositories}${warnings}`
    : `${name}: ${repositories}; no manifest, so the bytes were not compared${warnings}`
}
