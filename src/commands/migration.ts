import type { Command } from 'commander'
import { isPartial } from '../lib/is-partial.ts'
import { escapeForTerminal } from '../lib/terminal-text.ts'
import { UsageError } from '../lib/user-error.ts'
import { addClientCommand, printJson, sameOrgFlag, tell, withClient } from './client-command.ts'
import { idArgument, print, printTable, withExamples } from './command-line.ts'
import { downloadCommand } from './migration/download.ts'
import {
  describeMigration,
  migrationRows,
  repositoryRows,
  summaryRows,
} from './migration/format-migration.ts'
import { retryCommand, startCommand } from './migration/start.ts'
import { watchCommand } from './migration/watch.ts'

const ID = idArgument('migration')

/** A client of any server of this API, ours or another's. */
export function migrationCommands(program: Command, about: string): void {
  const migration = program.command('migration').description(about)
  withExamples(
    migration,
    'export GODWIT_URL=http://127.0.0.1:3000 GODWIT_TOKEN_FILE=~/.godwit-token',
    'godwit migration start alice/site octo/tools --watch',
    'godwit migration download 1',
  )
  startCommand(migration)
  listCommand(migration)
  showCommand(migration)
  repositoriesCommand(migration)
  watchCommand(migration)
  downloadCommand(migration)
  deleteCommand(migration)
  unlockCommand(migration)
  cancelCommand(migration)
  retryCommand(migration)
  reportCommand(migration)
}

function listCommand(migration: Command): void {
  const command = addClientCommand(migration, 'list', 'list all migrations, newest first')
  withExamples(command, 'godwit migration list', 'godwit migration list --json | jq ".[0].state"')
  command.action(
    withClient(async (talk) => {
      if (talk.isJson) return printJson(await talk.api.list())
      // Godwit counts the repositories; elsewhere they come all, for their number.
      const summaries = await talk.api.summaries()
      printTable(summaries ? summaryRows(summaries) : migrationRows(await talk.api.list()))
    }),
  )
}

function showCommand(migration: Command): void {
  const command = addClientCommand(migration, 'show', 'show one migration and its state')
  withExamples(command, 'godwit migration show 7', 'godwit migration show 7 --json')
  command.argument(...ID).action(
    withClient(async (talk, _options, id: number) => {
      const found = await talk.api.show(id)
      if (talk.isJson) return printJson(found)
      const summary = await talk.api.summary(id)
      const lacks = summary && isPartial(summary) ? await talk.api.notExported(id) : []
      tell(talk, found, describeMigration(found, summary, lacks, sameOrgFlag(talk)))
    }),
  )
}

function repositoriesCommand(migration: Command): void {
  const command = addClientCommand(
    migration,
    'repositories',
    'list the repositories of a migration',
  )
  withExamples(command, 'godwit migration repositories 7')
  command.argument(...ID).action(
    withClient(async (talk, _options, id: number) => {
      const all = await talk.api.repositories(id)
      tell(talk, all, repositoryRows(all))
    }),
  )
}

function deleteCommand(migration: Command): void {
  const about = 'delete the archive of a migration; the migration stays in the list'
  const command = addClientCommand(migration, 'delete', about)
  withExamples(command, 'godwit migration delete 7')
  command.argument(...ID).action(
    withClient(async (talk, _options, id: number) => {
      await talk.api.deleteArchive(id)
      tell(talk, { id, archive: 'deleted' }, `the archive of migration ${id} is deleted`)
    }),
  )
}

function unlockCommand(migration: Command): void {
  const command = addClientCommand(
    migration,
    'unlock',
    'unlock repositories, so that they accept pushes again',
  )
  withExamples(command, 'godwit migration unlock 7 alice/site octo/tools')
  command.argument(...ID).argument('<repositories...>', 'OWNER/NAME, or NAME alone')
  command.action(
    withClient(async (talk, _options, id: number, asked: string[]) => {
      const covered = (await talk.api.repositories(id)).map(({ full_name }) => full_name)
      const unlocked = asked.map((name) => lockName(covered, id, name, sameOrgFlag(talk)))
      for (const { fullName, onWire } of unlocked) {
        await talk.api.unlock(id, onWire)
        if (!talk.isJson) print(`unlocked: ${escapeForTerminal(fullName)}`)
      }
      if (talk.isJson) printJson({ id, unlocked: unlocked.map(({ fullName }) => fullName) })
    }),
  )
}

/** The API has a bare name there; where that could mean two, Godwit takes the owner as well. */
function lockName(covered: string[], id: number, asked: string, flags: string) {
  const wanted = asked.toLowerCase()
  const nameOf = (fullName: string) => fullName.slice(fullName.indexOf('/') + 1)
  const found = covered.filter((each) => {
    const fullName = each.toLowerCase()
    return wanted.includes('/') ? fullName === wanted : nameOf(fullName) === wanted
  })
  const [fullName] = found
  if (fullName === undefined)
    throw new UsageError(
      `migration ${id} does not include ${asked}: \`godwit migration repositories ${id}${flags}\` lists its repositories; nothing was unlocked`,
    )
  if (found.length > 1)
    throw new UsageError(
      `${asked} can mean ${found.map(escapeForTerminal).join(' or ')}: use OWNER/NAME; nothing was unlocked`,
    )
  const name = nameOf(fullName)
  const isOnly = covered.filter((each) => nameOf(each).toLowerCase() === name.toLowerCase()).length
  return { fullName, onWire: isOnly === 1 ? name : fullName }
}

function cancelCommand(migration: Command): void {
  const command = addClientCommand(
    migration,
    'cancel',
    'cancel an unfinished migration (Godwit only)',
  )
  withExamples(command, 'godwit migration cancel 7')
  command.argument(...ID).action(
    withClient(async (talk, _options, id: number) => {
      const cancelled = await talk.api.cancel(id)
      tell(talk, cancelled, `migration ${id} is cancelled`)
    }),
  )
}

function reportCommand(migration: Command): void {
  const about = 'show the result, size and time of each repository (Godwit only)'
  const command = addClientCommand(migration, 'report', about)
  withExamples(command, 'godwit migration report 7')
  command.argument(...ID).action(
    withClient(async (talk, _options, id: number) => {
      if (talk.isJson) tell(talk, await talk.api.report(id), '')
      else print((await talk.api.reportText(id)).trimEnd())
    }),
  )
}
