import type { Command } from 'commander'
import type { ServiceResponse, TokenResponse } from '../client/responses.ts'
import { isFullName } from '../lib/names.ts'
import { UsageError } from '../lib/user-error.ts'
import { addClientCommand, tell, withClient } from './client-command.ts'
import { ago, idArgument, withExamples } from './command-line.ts'
import { startOnce } from './migration/starting.ts'

const ID = idArgument('migration')

/** What an operator may do with the token of a site admin, about anyone's migrations, locks and tokens. */
export function adminCommands(program: Command, about: string): void {
  const admin = program.command('admin').description(about)
  withExamples(
    admin,
    'godwit admin queue --url http://127.0.0.1:3000 --token-file admin-token',
    'godwit admin cancel 7',
    'godwit admin release alice/site',
  )
  queueCommand(admin)
  actOnMigrations(admin)
  actOnLocksAndTokens(admin)
}

function queueCommand(admin: Command): void {
  const about = 'show waiting jobs and unfinished migrations'
  withExamples(addClientCommand(admin, 'queue', about), 'godwit admin queue').action(
    withClient(async (talk) => {
      const { queue, running } = await talk.api.service()
      tell(talk, { queue, running }, queueRows({ queue, running }))
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

function actOnMigrations(admin: Command): void {
  withExamples(
    addClientCommand(admin, 'cancel', 'cancel a migration of any account'),
    'godwit admin cancel 7',
  )
    .argument(...ID)
    .action(
      withClient(async (talk, _options, id: number) => {
        tell(talk, await talk.api.cancelAny(id), `migration ${id} is cancelled`)
      }),
    )
  withExamples(
    addClientCommand(admin, 'retry', 'start a finished migration of any account again'),
    'godwit admin retry 7 --allow-partial',
  )
    .argument(...ID)
    .option('--allow-partial', 'skip repositories that cannot be exported')
    .action(
      withClient(async (talk, { allowPartial }: { allowPartial?: boolean }, id: number) => {
        const asked = allowPartial ? { allow_partial: true } : {}
        const retry = () => talk.api.retryAny(id, asked)
        const started = await startOnce(talk, retry, 'godwit admin queue')
        tell(talk, started, String(started.id))
      }),
    )
  withExamples(
    addClientCommand(admin, 'delete', 'delete the archive of a migration of any account'),
    'godwit admin delete 7',
  )
    .argument(...ID)
    .action(
      withClient(async (talk, _options, id: number) => {
        await talk.api.deleteAnyArchive(id)
        tell(talk, { id, archive: 'deleted' }, `the archive of migration ${id} is deleted`)
      }),
    )
}

function actOnLocksAndTokens(admin: Command): void {
  withExamples(
    addClientCommand(admin, 'release', 'release all locks of a repository'),
    'godwit admin release alice/site',
  )
    .argument('<repository>', 'OWNER/NAME')
    .action(
      withClient(async (talk, _options, repository: string) => {
        if (!isFullName(repository)) throw new UsageError(`"${repository}" is not OWNER/NAME`)
        await talk.api.releaseAny(repository)
        tell(talk, { released: repository }, `${repository} accepts pushes`)
      }),
    )
  const tokens = 'list the tokens of all accounts, without the secrets'
  withExamples(addClientCommand(admin, 'tokens', tokens), 'godwit admin tokens').action(
    withClient(async (talk) => {
      const all = await talk.api.tokens()
      tell(talk, all, [['ID', 'LOGIN', 'NAME', 'STATE', 'LAST USED'], ...all.map(tokenRow)])
    }),
  )
  withExamples(
    addClientCommand(admin, 'revoke', 'revoke a token of any account'),
    'godwit admin revoke 7',
  )
    .argument(...idArgument('token'))
    .action(
      withClient(async (talk, _options, id: number) => {
        await talk.api.revokeAny(id)
        tell(talk, { id, revoked: true }, `token ${id} is revoked`)
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
  const isOver = !!expires_at && Date.parse(expires_at) <= Date.now()
  const state = revoked_at ? 'revoked' : isOver ? 'expired' : 'valid'
  return [String(id), login, name || '-', state, ago(last_used_at ?? null)]
}
