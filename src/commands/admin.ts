import type { Command } from 'commander'
import type { ServiceResponse, TokenResponse } from '../client/responses.ts'
import { isFullName } from '../lib/names.ts'
import { UsageError } from '../lib/user-error.ts'
import { type ClientCommands, clientCommandsOf, startOnce, withClient } from './client-command.ts'
import { formatTime, printResult, type Table, withExamples } from './command-line.ts'

/** Adds the commands for a site admin: they act on the migrations, locks and tokens of every account. */
export function adminCommands(program: Command, about: string): void {
  const admin = withExamples(
    program.command('admin').description(about),
    'godwit admin status',
    'godwit admin migration cancel 7',
    'godwit admin lock remove alice/site',
  )
  const group = (noun: string, aboutGroup: string, ...examples: string[]) =>
    clientCommandsOf(withExamples(admin.command(noun).description(aboutGroup), ...examples), noun, {
      hasOrg: false,
    })
  const { add } = clientCommandsOf(admin, 'migration', { hasOrg: false })
  add('status', 'show unfinished migrations and waiting jobs', 'godwit admin status').action(
    withClient(async (client) => {
      const { queue, running } = await client.api.service()
      printResult(client, { queue, running }, queueRows({ queue, running }), NOTHING_TO_DO)
    }),
  )
  const cancel = 'godwit admin migration cancel 7'
  migrationCommands(group('migration', 'cancel, retry or delete any migration', cancel))
  lockCommands(group('lock', 'remove any lock', 'godwit admin lock remove alice/site'))
  tokenCommands(group('token', 'list and revoke any token', 'godwit admin token list'))
}

const NOTHING_TO_DO = 'no unfinished migrations and no waiting jobs'

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
  addWithId(
    'cancel',
    'cancel a migration of any account',
    'godwit admin migration cancel 7',
  ).action(
    withClient(async (client, _options, id: number) => {
      printResult(client, await client.api.cancelAny(id), `migration ${id} cancelled`)
    }),
  )
  addWithId(
    'retry',
    'start a finished migration of any account again',
    'godwit admin migration retry 7 --allow-partial',
  )
    .option('--allow-partial', 'skip repositories that cannot be exported')
    .action(
      withClient(async (client, { allowPartial }: { allowPartial?: boolean }, id: number) => {
        const body = allowPartial ? { allow_partial: true } : {}
        const retry = () => client.api.retryAny(id, body)
        const started = await startOnce(client, retry, 'godwit admin status')
        printResult(client, started, String(started.id))
      }),
    )
  addWithId(
    'delete',
    'delete the archive of a migration of any account',
    'godwit admin migration delete 7',
  ).action(
    withClient(async (client, _options, id: number) => {
      await client.api.deleteAnyArchive(id)
      printResult(client, { id, archive: 'deleted' }, `archive of migration ${id} deleted`)
    }),
  )
}

function lockCommands({ add }: ClientCommands): void {
  add(
    'remove',
    'remove all locks of a repository, over the API',
    'godwit admin lock remove alice/site',
  )
    .argument('<repository>', 'OWNER/NAME')
    .action(
      withClient(async (client, _options, repository: string) => {
        if (!isFullName(repository)) throw new UsageError(`'${repository}' is not OWNER/NAME`)
        await client.api.releaseAnyLock(repository)
        printResult(
          client,
          { full_name: repository, locked: false },
          `${repository} accepts pushes`,
        )
      }),
    )
}

function tokenCommands({ add, addWithId }: ClientCommands): void {
  add(
    'list',
    'list the tokens of all accounts, without the secrets',
    'godwit admin token list',
  ).action(
    withClient(async (client) => {
      const tokens = await client.api.tokens()
      const titles = ['ID', 'LOGIN', 'NAME', 'STATE', 'LAST USED']
      printResult(client, tokens, [titles, ...tokens.map(tokenRow)], 'no tokens yet')
    }),
  )
  addWithId('remove', 'revoke a token of any account', 'godwit admin token remove 7').action(
    withClient(async (client, _options, id: number) => {
      await client.api.revokeAnyToken(id)
      printResult(client, { id, revoked: true }, `token ${id} revoked`)
    }),
  )
}

function tokenRow(token: TokenResponse): string[] {
  const { id, login, name, expires_at, last_used_at, revoked_at } = token
  const isExpired = !!expires_at && Date.parse(expires_at) <= Date.now()
  const state = revoked_at ? 'revoked' : isExpired ? 'expired' : 'valid'
  return [String(id), login, name || '-', state, formatTime(last_used_at ?? null)]
}
