import { archiveOpener } from '@godwit/archive/archive-opener'
import { restoreArchive } from '@godwit/archive/restore-archive'
import { temporaryGit } from '@godwit/git/temporary-git'
import { withWriteContext } from '@godwit/lib/disk-errors'
import { formatCount } from '@godwit/lib/quantities'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { UsageError, UserError } from '@godwit/lib/user-error'
import type { Command } from 'commander'
import { path } from '../settings/config-values.ts'
import { addCommand, addTo, parsed, readCommandConfig } from './command-line.ts'
import { print, printJson } from './print.ts'
import { ARCHIVE } from './read-people.ts'
import { stoppable } from './stop-signal.ts'

type RestoreOptions = { into: string; include?: string[]; strict?: boolean; json?: boolean }

export function restoreCommand(program: Command, about: string): void {
  addCommand(
    program,
    'restore',
    about,
    ['godwit restore migration.tar.gz --into /srv/restored'],
    ['git'],
  )
    .usage('ARCHIVE --into DIR')
    .argument('<archive>', ARCHIVE)
    .requiredOption(
      '--into <DIR>',
      'directory to restore to, as OWNER/NAME.git',
      parsed('--into', path),
    )
    .option('--include <OWNER/NAME>', 'restore only this repository; repeat it for more', addTo)
    .option('--strict', 'fail if some data of the archive could not be restored')
    .action(stoppable(runRestore))
}

/** Prints what happens as lines, or as one JSON value at the end. */
async function runRestore(
  signal: AbortSignal,
  file: string,
  { into, include: repositories = [], strict, json }: RestoreOptions,
  command: Command,
): Promise<void> {
  const restored: string[] = []
  const failed: { full_name: string; errors: readonly string[] }[] = []
  /** Each is about data that was not restored in full. */
  const notes: string[] = []
  const show = (line: string) => {
    if (!json) print(escapeForTerminal(line))
  }
  const onNote = (line: string) => {
    notes.push(line)
    show(line)
  }
  try {
    const config = readCommandConfig(command, ['git'])
    if (file === '-')
      throw new UsageError('restore reads the archive twice: give a file, not standard input')
    await using temporary = await temporaryGit(config, 'restore')
    const { git } = temporary
    const open = await archiveOpener(file)
    await withWriteContext(into, async () => {
      const results = restoreArchive({ git, open, into, repositories, onNote }, signal)
      for await (const { fullName, errors } of results) {
        if (errors.length > 0) failed.push({ full_name: fullName, errors })
        else {
          restored.push(fullName)
          show(`restored: ${fullName}`)
        }
        for (const error of errors) show(`failed: ${fullName}: ${error}`)
      }
    })
    if (failed.length > 0)
      throw new UserError(
        `${formatCount(failed.length, 'repository')} could not be restored${restored.length > 0 ? `; the others are in ${into}` : ''}`,
      )
    if (strict && notes.length > 0)
      throw new UserError(
        `some data could not be restored (--strict); the restored repositories are in ${into}`,
      )
  } finally {
    if (json) printJson({ restored, failed, notes })
  }
}
