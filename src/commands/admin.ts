import type { Command } from 'commander'
import type { ServiceResponse, TokenResponse } from '../client/responses.ts'
import { isFullName } from '../lib/names.ts'
import { UsageError } from '../lib/user-error.ts'
import { type ClientCommands, clientCommandsOf, startOnce, withClient } from './client-command.ts'
import { formatTime, idArgument, printResult, type Table, withExamples } from './command-line.ts'

/** Adds the commands for a site admin: they act on the migrations, locks and tokens of every account. */
export function adminCommands(program: Command, about: string): void {
  const admin = withExamples(
    program.command('admin').description(about),
    'godwit admin queue --url http://127.0.0.1:3000 --token-file admin-token',
    'godwit admin cancel 7',
    'godwit admin release alice/site',
  )
  const commands = clientCommandsOf(admin, 'migration')
  commands.add('queue', 'show waiting jobs and unfinished migrations', 'godwit admin queue').action(
    withClient(async (client) => {
      const { queue, running } = await client.api.service()
      printResult(client, { queue, running }, queueRows({ queue, running }))
    }),
  )
  migrationCommands(commands)
  lockAndTokenCommands(commands)
}

function queueRows({ queue, running }: Pick<ServiceResponse, 'queue' | 'running'>): Table {
  return [
    ['WHAT', 'WHOSE', 'STATE', 'SINCE', 'PROGRESS'],
    ...running.map(({ id, login, state, created_at, repositories: { total, remaining } }) => [
      `migration ${id}`,
      login,
      state,
      formatTime(created_at),
      `${total - remaining} of ${total}`,
    ]),
    ...queue.kinds.map(({ kind, jobs, oldest_at }) => [
      `jobs: ${kind}`,
      '-',
      'waiting or running',
      formatTime(oldest_at),
      String(jobs),
    ]),
  ]
}

function migrationCommands({ addWithId }: ClientCommands): void {
  addWithId('cancel', 'cancel a migration of any account', 'godwit admin cancel 7').action(
    withClient(async (client, _options, id: number) => {
      printResult(client, await client.api.cancelAny(id), `migration ${id} is cancelled`)
    }),
  )
  addWithId(
    'retry',
    'start a finished migration of any account again',
    'godwit admin retry 7 --allow-partial',
  )
    .option('--allow-partial', 'skip repositories that cannot be exported')
    .action(
      withClient(async (client, { allowPartial }: { allowPartial?: boolean }, id: number) => {
        const body = allowPartial ? { allow_partial: true } : {}
        const retry = () => client.api.retryAny(id, body)
        const started = await startOnce(client, retry, 'godwit admin queue')
        printResult(client, started, String(started.id))
      }),
    )
  addWithId(
    'delete',
    'delete the archive of a migration of any account',
    'godwit admin delete 7',
  ).action(
    withClient(async (client, _options, id: number) => {
      await client.api.deleteAnyArchive(id)
      printResult(client, { id, archive: 'deleted' }, `the archive of migration ${id} is deleted`)
    }),
  )
}

function lockAndTokenCommands({ add }: ClientCommands): void {
  add('release', 'release all locks of a repository', 'godwit admin release alice/site')
    .argument('<repository>', 'OWNER/NAME')
    .action(
      withClient(async (client, _options, repository: string) => {
        if (!isFullName(repository)) throw new UsageError(`"${repository}" is not OWNER/NAME`)
        await client.api.releaseAnyLock(repository)
        printResult(client, { released: repository }, `${repository} accepts pushes`)
      }),
    )
  add(
    'tokens',
    'list the tokens of all accounts, without the secrets',
    'godwit admin tokens',
  ).action(
    withClient(async (client) => {
      const tokens = await client.api.tokens()
      const titles = ['ID', 'LOGIN', 'NAME', 'STATE', 'LAST USED']
      printResult(client, tokens, [titles, ...tokens.map(tokenRow)])
    }),
  )
  add('revoke', 'revoke a token of any account', 'godwit admin revoke 7')
    .argument(...idArgument('token'))
    .action(
      withClient(async (client, _options, id: number) => {
        await client.api.revokeAnyToken(id)
        printResult(client, { id, revoked: true }, `token ${id} is revoked`)
      }),
    )
}

function tokenRow(token: TokenResponse): string[] {
  const { id, login, name, expires_at, last_used_at, revoked_at } = token
  const isExpired = !!expires_at && Date.parse(expires_at) <= Date.now()
  const state = revoked_at ? 'revoked' : isExpired ? 'expired' : 'valid'
  return [String(id), login, name || '-', state, formatTime(last_used_at ?? null)]
}
