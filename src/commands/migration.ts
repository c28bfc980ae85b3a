import type { Command } from 'commander'
import { isPartial } from '../lib/is-partial.ts'
import { escapeForTerminal } from '../lib/terminal-text.ts'
import { UsageError } from '../lib/user-error.ts'
import { addClientCommand, orgFlag, printJson, printResult, withClient } from './client-command.ts'
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

/** Adds the commands that manage migrations on any server of this API. */
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
    withClient(async (client) => {
      if (client.isJson) return printJson(await client.api.list())
      // Godwit's summaries have counts. Other servers send every repository.
      const summaries = await client.api.summaries()
      printTable(summaries ? summaryRows(summaries) : migrationRows(await client.api.list()))
    }),
  )
}

function showCommand(migration: Command): void {
  const command = addClientCommand(migration, 'show', 'show one migration and its state')
  withExamples(command, 'godwit migration show 7', 'godwit migration show 7 --json')
  command.argument(...ID).action(
    withClient(async (client, _options, id: number) => {
      const found = await client.api.show(id)
      if (client.isJson) return printJson(found)
      const summary = await client.api.summary(id)
      const skipped = summary && isPartial(summary) ? await client.api.notExported(id) : []
      printResult(client, found, describeMigration(found, summary, skipped, orgFlag(client)))
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
    withClient(async (client, _options, id: number) => {
      const all = await client.api.repositories(id)
      printResult(client, all, repositoryRows(all))
    }),
  )
}

function deleteCommand(migration: Command): void {
  const about = 'delete the archive of a migration; the migration stays in the list'
  const command = addClientCommand(migration, 'delete', about)
  withExamples(command, 'godwit migration delete 7')
  command.argument(...ID).action(
    withClient(async (client, _options, id: number) => {
      await client.api.deleteArchive(id)
      printResult(client, { id, archive: 'deleted' }, `the archive of migration ${id} is deleted`)
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
    withClient(async (client, _options, id: number, names: string[]) => {
      const covered = (await client.api.repositories(id)).map(({ full_name }) => full_name)
      const unlocked = names.map((name) => lockName(covered, id, name, orgFlag(client)))
      for (const { fullName, parameter } of unlocked) {
        await client.api.unlock(id, parameter)
        if (!client.isJson) print(`unlocked: ${escapeForTerminal(fullName)}`)
      }
      if (client.isJson) printJson({ id, unlocked: unlocked.map(({ fullName }) => fullName) })
    }),
  )
}

/** GitHub's API takes the name without the owner. If two repositories have the name, Godwit takes OWNER/NAME. */
function lockName(covered: string[], id: number, given: string, flags: string) {
  const wanted = given.toLowerCase()
  const nameOf = (fullName: string) => fullName.slice(fullName.indexOf('/') + 1)
  const found = covered.filter((each) => {
    const fullName = each.toLowerCase()
    return wanted.includes('/') ? fullName === wanted : nameOf(fullName) === wanted
  })
  const [fullName] = found
  if (fullName === undefined)
    throw new UsageError(
      `migration ${id} does not include ${given}: \`godwit migration repositories ${id}${flags}\` lists its repositories; nothing was unlocked`,
    )
  if (found.length > 1)
    throw new UsageError(
      `${given} can mean ${found.map(escapeForTerminal).join(' or ')}: use OWNER/NAME; nothing was unlocked`,
    )
  const name = nameOf(fullName)
  const sameName = covered.filter((each) => nameOf(each).toLowerCase() === name.toLowerCase())
  return { fullName, parameter: sameName.length === 1 ? name : fullName }
}

function cancelCommand(migration: Command): void {
  const command = addClientCommand(
    migration,
    'cancel',
    'cancel an unfinished migration (Godwit only)',
  )
  withExamples(command, 'godwit migration cancel 7')
  command.argument(...ID).action(
    withClient(async (client, _options, id: number) => {
      const cancelled = await client.api.cancel(id)
      printResult(client, cancelled, `migration ${id} is cancelled`)
    }),
  )
}

function reportCommand(migration: Command): void {
  const about = 'show the result, size and time of each repository (Godwit only)'
  const command = addClientCommand(migration, 'report', about)
  withExamples(command, 'godwit migration report 7')
  command.argument(...ID).action(
    withClient(async (client, _options, id: number) => {
      if (client.isJson) printResult(client, await client.api.report(id), '')
      else print((await client.api.reportText(id)).trimEnd())
    }),
  )
}
