import type { SummaryResponse } from '@godwit/contract/client/responses'
import { sumLosses } from '@godwit/lib/findings'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { UsageError } from '@godwit/lib/user-error'
import type { Command } from 'commander'
import { type ClientContext, clientCommandsOf, printing, withClient } from './client-command.ts'
import { withExamples } from './command-line.ts'
import { tokenRows } from './format-tokens.ts'
import { downloadCommand } from './migration/download.ts'
import {
  describeMigration,
  migrationRows,
  repositoryRows,
  summaryRows,
} from './migration/format-migration.ts'
import { retryCommand, startCommand } from './migration/start.ts'
import { watchCommand } from './migration/watch.ts'
import { print, printJson, printLosses, printMessage, printResult, printTable } from './print.ts'

/** Adds the commands that manage migrations on any server of this API. */
export function migrationCommands(program: Command, about: string): void {
  const group = withExamples(program.command('migration').description(about), [
    'godwit auth login',
    'godwit migration start alice/site octo/tools --watch',
    'godwit migration download 1',
  ])
  const commands = clientCommandsOf(group, 'migration')
  const { add, addWithId } = commands
  startCommand(commands)
  add('list', 'list your migrations (or those of --org), newest first', [
    'godwit migration list',
    'godwit migration list --json | jq ".[0].state"',
  ]).action(
    withClient(async (client) => {
      // Godwit's summaries have counts and names. Other servers send every repository.
      const summaries = await client.api.summaries()
      if (client.json) return printJson(withNames(await client.api.list(), summaries))
      const rows = summaries ? summaryRows(summaries) : migrationRows(await client.api.list())
      printTable(rows, 'no migrations yet')
    }),
  )
  addWithId('show', 'show one migration, its state, and what its archive lacks', [
    'godwit migration show 7',
    'godwit migration show 7 --json',
  ])
    .alias('status')
    .action(withClient((client, _options, id: number) => showMigration(client, id)))
  addWithId('repositories', 'list the repositories of a migration', [
    'godwit migration repositories 7',
  ]).action(
    printing(
      (api, id: number) => api.repositories(id),
      repositoryRows,
      'the migration has no repositories',
    ),
  )
  watchCommand(commands)
  downloadCommand(commands)
  addWithId('delete', 'delete the archive of a migration; the migration stays in the list', [
    'godwit migration delete 7',
  ]).action(
    withClient(async (client, _options, id: number) => {
      await client.api.deleteArchive(id)
      printResult(client, { id, archive: 'deleted' }, `archive of migration ${id} deleted`)
    }),
  )
  addWithId('unlock', 'unlock repositories, so that they accept pushes again', [
    'godwit migration unlock 7 alice/site octo/tools',
  ])
    .argument('<repositories...>', 'OWNER/NAME, or NAME alone')
    .action(
      withClient((client, _options, id: number, names: string[]) => unlock(client, id, names)),
    )
  addWithId('cancel', 'cancel an unfinished migration (Godwit only)', [
    'godwit migration cancel 7',
  ]).action(
    withClient(async (client, _options, id: number) => {
      printResult(client, await client.api.cancel(id), `migration ${id} cancelled`)
    }),
  )
  retryCommand(commands)
  addWithId('report', 'show the result, size and time of each repository (Godwit only)', [
    'godwit migration report 7',
  ]).action(
    withClient(async (client, _options, id: number) => {
      if (client.json) printJson(await client.api.report(id))
      else print((await client.api.reportText(id)).trimEnd())
    }),
  )
  tokenCommand(group)
}

/** Adds the names that the account gave its migrations: GitHub's operations do not have them. */
function withNames<M extends { id: number }>(
  migrations: readonly M[],
  summaries: readonly SummaryResponse[] | undefined,
): M[] {
  if (!summaries) return [...migrations]
  const names = new Map(summaries.map(({ id, name }) => [id, name ?? null]))
  return migrations.map((each) => ({ ...each, name: names.get(each.id) ?? null }))
}

async function showMigration(client: ClientContext, id: number): Promise<void> {
  const found = await client.api.show(id)
  const summary = await client.api.summary(id)
  const hasEnded = summary && !['pending', 'exporting'].includes(summary.state)
  const results = hasEnded ? await client.api.results(id) : []
  const losses = results.flatMap(({ full_name, records }) =>
    (records?.losses ?? []).map((loss) => ({ full_name, ...loss })),
  )
  const text = describeMigration(found, summary, results, client.api.orgFlag)
  printResult(client, summary ? { ...withNames([found], [summary])[0], losses } : found, text)
  if (!client.json) printLosses('NOT IN THE ARCHIVE', sumLosses(losses))
}

async function unlock(client: ClientContext, id: number, names: string[]): Promise<void> {
  const included = (await client.api.repositories(id)).map(({ full_name }) => full_name)
  const unlocked = names.map((name) => findLock(included, id, name, client.api.orgFlag))
  for (const { fullName, parameter } of unlocked) {
    await client.api.unlock(id, parameter)
    if (!client.json) print(`unlocked: ${escapeForTerminal(fullName)}`)
  }
  if (client.json) printJson({ id, unlocked: unlocked.map(({ fullName }) => fullName) })
}

/**
 * Finds the repository that `given` names, and the parameter that unlocks it: GitHub's API takes the name without the owner. If
 * two repositories of the migration have that name, Godwit takes OWNER/NAME.
 */
function findLock(included: string[], id: number, given: string, flags: string) {
  const wanted = given.toLowerCase()
  const nameOf = (fullName: string) => fullName.slice(fullName.indexOf('/') + 1)
  const found = included.filter((each) => {
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
  const sameName = included.filter((each) => nameOf(each).toLowerCase() === name.toLowerCase())
  return { fullName, parameter: sameName.length === 1 ? name : fullName }
}

/** A token cannot create or revoke tokens, so there is only a list. */
function tokenCommand(migration: Command): void {
  const list = 'godwit migration token list'
  const token = withExamples(
    migration.command('token').description('list your tokens (Godwit only)'),
    [list],
  )
  clientCommandsOf(token, 'token', { hasOrg: false })
    .add('list', 'list your tokens, without the secrets, and say where to create more', [list])
    .action(
      withClient(async (client) => {
        const tokens = await client.api.ownTokens()
        printResult(client, tokens, tokenRows(tokens), 'no tokens yet')
        const page = `${client.config.url.replace(/\/api\/v3$/, '')}/#/tokens`
        printMessage(`create and revoke tokens in a browser, at ${page}`)
      }),
    )
}
