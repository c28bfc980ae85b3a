import type { ServiceResponse } from '@godwit/contract/client/responses'
import { isFullName } from '@godwit/lib/names'
import { UsageError } from '@godwit/lib/user-error'
import type { Command } from 'commander'
import { clientCommandsOf, printing, startOnce, withClient } from './client-command.ts'
import { withExamples } from './command-line.ts'
import { tokenRows } from './format-tokens.ts'
import { formatTime, printResult } from './print.ts'
import type { Table } from './table.ts'

/** Adds the commands for a site admin: they act on the migrations, locks and tokens of every account. */
export function adminCommands(program: Command, about: string): void {
  const admin = withExamples(program.command('admin').description(about), [
    'godwit admin status',
    'godwit admin migration cancel 7',
    'godwit admin lock remove alice/site',
  ])
  clientCommandsOf(admin, 'migration', { hasOrg: false })
    .add('status', 'show unfinished migrations and waiting jobs', ['godwit admin status'])
    .action(
      printing(
        async (api) => {
          const { queue, running } = await api.service()
          return { queue, running }
        },
        queueRows,
        'no unfinished migrations and no waiting jobs',
      ),
    )
  const group = (noun: string, aboutGroup: string, example: string) =>
    clientCommandsOf(withExamples(admin.command(noun).description(aboutGroup), [example]), noun, {
      hasOrg: false,
    })

  const cancel = 'godwit admin migration cancel 7'
  const migration = group('migration', 'cancel, retry or delete any migration', cancel)
  migration.addWithId('cancel', 'cancel a migration of any account', [cancel]).action(
    withClient(async (client, _options, id: number) => {
      printResult(client, await client.api.cancelAny(id), `migration ${id} cancelled`)
    }),
  )
  migration
    .addWithId('retry', 'start a finished migration of any account again', [
      'godwit admin migration retry 7 --allow-partial',
    ])
    .option('--allow-partial', 'skip repositories that cannot be exported')
    .action(
      withClient(async (client, { allowPartial }: { allowPartial?: boolean }, id: number) => {
        const body = allowPartial ? { allow_partial: true } : {}
        const retry = () => client.api.retryAny(id, body)
        const started = await startOnce(client, retry, 'godwit admin status')
        printResult(client, started, String(started.id))
      }),
    )
  migration
    .addWithId('delete', 'delete the archive of a migration of any account', [
      'godwit admin migration delete 7',
    ])
    .action(
      withClient(async (client, _options, id: number) => {
        await client.api.deleteAnyArchive(id)
        printResult(client, { id, archive: 'deleted' }, `archive of migration ${id} deleted`)
      }),
    )

  const unlock = 'godwit admin lock remove alice/site'
  group('lock', 'remove any lock', unlock)
    .add('remove', 'remove all locks of a repository, over the API', [unlock])
    .argument('<repository>', 'OWNER/NAME')
    .action(
      withClient(async (client, _options, name: string) => {
        if (!isFullName(name)) throw new UsageError(`'${name}' is not OWNER/NAME`)
        await client.api.releaseAnyLock(name)
        printResult(client, { full_name: name, locked: false }, `${name} accepts pushes`)
      }),
    )

  const list = 'godwit admin token list'
  const token = group('token', 'list and revoke any token', list)
  token
    .add('list', 'list the tokens of all accounts, without the secrets', [list])
    .action(printing((api) => api.tokens(), tokenRows, 'no tokens yet'))
  token
    .addWithId('remove', 'revoke a token of any account', ['godwit admin token remove 7'])
    .action(
      withClient(async (client, _options, id: number) => {
        await client.api.revokeAnyToken(id)
        printResult(client, { id, revoked: true }, `token ${id} revoked`)
      }),
    )
}

const queueRows = ({ queue, running }: Pick<ServiceResponse, 'queue' | 'running'>): Table => [
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
