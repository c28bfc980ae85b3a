import type { Command } from 'commander'
import type { ServiceResponse, TokenResponse } from '../client/responses.ts'
import { isFullName } from '../lib/names.ts'
import { UsageError } from '../lib/user-error.ts'
import { addClientCommand, printResult, startOnce, withClient } from './client-command.ts'
import { ago, idArgument, withExamples } from './command-line.ts'

const ID = idArgument('migration')

/** Adds the commands for a site admin: they act on the migrations, locks and tokens of every account. */
export function adminCommands(program: Command, about: string): void {
  const admin = program.command('admin').description(about)
  withExamples(
    admin,
    'godwit admin queue --url http://127.0.0.1:3000 --token-file admin-token',
    'godwit admin cancel 7',
    'godwit admin release alice/site',
  )
  queueCommand(admin)
  migrationCommands(admin)
  lockAndTokenCommands(admin)
}

function queueCommand(admin: Command): void {
  const about = 'show waiting jobs and unfinished migrations'
  withExamples(addClientCommand(admin, 'queue', about), 'godwit admin queue').action(
    withClient(async (client) => {
      const { queue, running } = await client.api.service()
      printResult(client, { queue, running }, queueRows({ queue, running }))
    }),
  )
}

function queueRows({ queue, running }: Pick<ServiceResponse, 'queue' | 'running'>): string[][] {
  return [
    ['WHAT', 'WHOSE', 'STATE', 'SINCE', 'PROGRESS'],
    ...running.map(({ id, login, state, created_at, repositories: { total, remaining } }) => [
      `migration ${id}`,
      login,
      state,
      ago(created_at),
      `${total - remaining} of ${total}`,
    ]),
    ...queue.kinds.map(({ kind, jobs, oldest_at }) => [
      `jobs: ${kind}`,
      '-',
      'waiting or running',
      ago(oldest_at),
      String(jobs),
    ]),
  ]
}

function migrationCommands(admin: Command): void {
  withExamples(
    addClientCommand(admin, 'cancel', 'cancel a migration of any account'),
    'godwit admin cancel 7',
  )
    .argument(...ID)
    .action(
      withClient(async (client, _options, id: number) => {
        printResult(client, await client.api.cancelAny(id), `migration ${id} is cancelled`)
      }),
    )
  withExamples(
    addClientCommand(admin, 'retry', 'start a finished migration of any account again'),
    'godwit admin retry 7 --allow-partial',
  )
    .argument(...ID)
    .option('--allow-partial', 'skip repositories that cannot be exported')
    .action(
      withClient(async (client, { allowPartial }: { allowPartial?: boolean }, id: number) => {
        const body = allowPartial ? { allow_partial: true } : {}
        const retry = () => client.api.retryAny(id, body)
        const started = await startOnce(client, retry, 'godwit admin queue')
        printResult(client, started, String(started.id))
      }),
    )
  withExamples(
    addClientCommand(admin, 'delete', 'delete the archive of a migration of any account'),
    'godwit admin delete 7',
  )
    .argument(...ID)
    .action(
      withClient(async (client, _options, id: number) => {
        await client.api.deleteAnyArchive(id)
        printResult(client, { id, archive: 'deleted' }, `the archive of migration ${id} is deleted`)
      }),
    )
}

function lockAndTokenCommands(admin: Command): void {
  withExamples(
    addClientCommand(admin, 'release', 'release all locks of a repository'),
    'godwit admin release alice/site',
  )
    .argument('<repository>', 'OWNER/NAME')
    .action(
      withClient(async (client, _options, repository: string) => {
        if (!isFullName(repository)) throw new UsageError(`"${repository}" is not OWNER/NAME`)
        await client.api.releaseAny(repository)
        printResult(client, { released: repository }, `${repository} accepts pushes`)
      }),
    )
  const tokens = 'list the tokens of all accounts, without the secrets'
  withExamples(addClientCommand(admin, 'tokens', tokens), 'godwit admin tokens').action(
    withClient(async (client) => {
      const all = await client.api.tokens()
      printResult(client, all, [
        ['ID', 'LOGIN', 'NAME', 'STATE', 'LAST USED'],
        ...all.map(tokenRow),
      ])
    }),
  )
  withExamples(
    addClientCommand(admin, 'revoke', 'revoke a token of any account'),
    'godwit admin revoke 7',
  )
    .argument(...idArgument('token'))
    .action(
      withClient(async (client, _options, id: number) => {
        await client.api.revokeAny(id)
        printResult(client, { id, revoked: true }, `token ${id} is revoked`)
      }),
    )
}

function tokenRow({
  id,
  login,
  name,
  expires_at,
  last_used_at,
  revoked_at,
}: TokenResponse): string[] {
  const isExpired = !!expires_at && Date.parse(expires_at) <= Date.now()
  const state = revoked_at ? 'revoked' : isExpired ? 'expired' : 'valid'
  return [String(id), login, name || '-', state, ago(last_used_at ?? null)]
}
