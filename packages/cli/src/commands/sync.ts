import { parseFullName } from '@godwit/lib/names'
import { formatCount } from '@godwit/lib/quantities'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { UsageError, UserError } from '@godwit/lib/user-error'
import type { Database } from '@godwit/server/db/database'
import { reconcileReleasedLocks } from '@godwit/server/migrations/locks'
import {
  type SyncReport,
  syncAllRepositories,
  syncRepositories,
} from '@godwit/server/repositories/sync'
import {
  openSource,
  requireGit,
  requireRepositories,
  sourcePathsOf,
} from '@godwit/server/service/data-paths'
import { openConfiguredForge, withForge } from '@godwit/server/service/open-configured-forge'
import { withDatabase } from '@godwit/server/service/open-database'
import type { Command } from 'commander'
import { addCommand, configAsDataOwner } from './command-line.ts'
import { type JsonOption, printMessage, printResult } from './print.ts'
import { COMMAND_LINE } from './service-database.ts'
import { DATABASE, FORGE, SOURCE } from './service-settings.ts'

const SETTINGS = [...DATABASE, ...SOURCE, ...FORGE] as const

export function syncCommand(program: Command, about: string): void {
  const command = addCommand(
    program,
    'sync [repositories...]',
    about,
    ['godwit sync --repositories /srv/git', 'godwit sync alice/site --repositories /srv/git'],
    SETTINGS,
  )
  command.action(async (fullNames: string[], { json }: JsonOption, command: Command) => {
    const names = fullNames.map((text) => {
      const name = parseFullName(text)
      if (!name) throw new UsageError(`"${text}" is not OWNER/NAME`)
      return name
    })
    const config = configAsDataOwner(command, SETTINGS)
    const paths = sourcePathsOf(config, requireRepositories(config.repositories))
    await requireGit(paths.git)
    const warn = (_: object, text: string) => printMessage(`warning: ${escapeForTerminal(text)}`)
    const act = async ({ db }: Pick<Database, 'db'>) => {
      const forgeDependencies = { db, now: Date.now, log: { warn } }
      const forge = await openConfiguredForge(config, forgeDependencies)
      const source = withForge(openSource(paths), forge, forgeDependencies)
      const dependencies = { db, source, now: Date.now, actor: COMMAND_LINE }
      const report = await (names.length > 0
        ? syncRepositories(dependencies, names)
        : syncAllRepositories(dependencies))
      printResult({ json }, reportJson(report), describe(report))
      const { length } = report.refused
      if (names.length === 0 && length > 0)
        printMessage(`warning: ${length} ${length === 1 ? 'entry was' : 'entries were'} skipped`)
      // A restored repository may still contain a lock that was released in the meantime.
      await reconcileReleasedLocks(dependencies)
      const { broken, found, refused } = report
      if (names.length > 0 && refused.length > 0)
        throw new UserError(`${formatCount(refused.length, 'repository')} not found`)
      if (broken.length > 0)
        throw new UserError(
          `${broken.length} of ${formatCount(found, 'repository')} cannot be read`,
        )
    }
    await withDatabase(config, act, { create: true })
  })
}

const reportJson = ({ found, read, missing, broken, refused, warnings }: SyncReport) => ({
  repositories: found,
  changed: read,
  removed: missing,
  failed: broken.map(({ fullName, reason }) => ({ full_name: fullName, reason })),
  skipped: refused.map(({ path, reason }) => ({ path, reason })),
  warnings: warnings.map(({ path, reason }) => ({ path, reason })),
})

function describe({ found, read, missing, broken, refused, warnings }: SyncReport): string {
  const line = (label: string, name: string, reason: string) =>
    `${label}: ${escapeForTerminal(name)}: ${escapeForTerminal(reason)}`
  return [
    `${formatCount(found, 'repository')}, ${read} new or changed, ${missing} removed`,
    ...broken.map(({ fullName, reason }) => line('failed', fullName, reason)),
    ...refused.map(({ path, reason }) => line('skipped', path, reason)),
    ...warnings.map(({ path, reason }) => line('warning', path, reason)),
  ].join('\n')
}
