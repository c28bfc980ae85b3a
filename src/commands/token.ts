import { type Command, InvalidArgumentError } from 'commander'
import {
  addToken,
  listTokens,
  removeToken,
  revokeToken,
  type TokenRecord,
} from '../accounts/token-store.ts'
import { escapeJsonForTerminal } from '../lib/terminal-text.ts'
import { UserError } from '../lib/user-error.ts'
import { replaceKey } from '../migrations/secret-store.ts'
import { withDatabase } from '../service/open-database.ts'
import { duration } from '../settings/config-values.ts'
import { requireAccount } from './account.ts'
import {
  addCommand,
  ago,
  dataConfigOf,
  idArgument,
  isoTime,
  print,
  printAndFlush,
  printTable,
  withExamples,
} from './command-line.ts'

export function tokenCommands(program: Command, about: string): void {
  const token = program.command('token').description(about)
  withExamples(token, 'godwit token add alice --name laptop --expires 90d', 'godwit token list')

  const add = addCommand(token, 'add <login>', 'create a token and print it; it is not shown again')
  withExamples(add, 'godwit token add alice --name laptop --expires 90d > token')
  add
    .option('--name <name>', 'name of the token', '')
    .option(
      '--expires <duration>',
      'how long the token is valid, such as 90d; 0 for no expiry',
      lifetime,
      0,
    )
    .action(createToken)

  const list = addCommand(token, 'list', 'list all tokens, without the secrets')
  withExamples(list, 'godwit token list').option('--json', 'print the tokens as JSON')
  list.action(async ({ json }: { json?: boolean }, command: Command) => {
    const tokens = await withDatabase(dataConfigOf(command), ({ db }) => listTokens(db))
    if (json) return print(escapeJsonForTerminal(tokens.map(jsonOf)))
    printTable([
      ['ID', 'LOGIN', 'NAME', 'STATE', 'CREATED', 'EXPIRES', 'LAST USED'],
      ...tokens.map(tokenRow),
    ])
  })

  const aboutReplace =
    'replace the key of temp_clone_token: issued tokens become invalid within 10 seconds'
  const replace = addCommand(token, 'replace-clone-key', aboutReplace)
  withExamples(replace, 'godwit token replace-clone-key').action(
    async (_options, command: Command) =>
      withDatabase(dataConfigOf(command), ({ db }) => replaceKey(db, 'clone-key')),
  )

  const revoke = addCommand(token, 'revoke', 'revoke a token')
  withExamples(revoke, 'godwit token revoke 7')
    .argument(...idArgument('token'))
    .action(async (id: number, _options, command: Command) => {
      const revoked = await withDatabase(dataConfigOf(command), ({ db }) =>
        revokeToken(db, id, Date.now()),
      )
      if (!revoked)
        throw new UserError(
          `token ${id} does not exist or is not valid: \`godwit token list\` shows all tokens`,
        )
    })
}

const jsonOf = ({ createdAt, expiresAt, lastUsedAt, revokedAt, ...same }: TokenRecord) => ({
  ...same,
  created_at: isoTime(createdAt),
  expires_at: isoTime(expiresAt),
  last_used_at: isoTime(lastUsedAt),
  revoked_at: isoTime(revokedAt),
})

interface AddOptions {
  name: string
  expires: number
}

async function createToken(login: string, options: AddOptions, command: Command): Promise<void> {
  const now = Date.now()
  await withDatabase(dataConfigOf(command), async ({ db }) => {
    const account = await requireAccount(db, login)
    if (account.type !== 'User') throw new UserError(notAUser(account.login))
    const expiresAt = options.expires === 0 ? null : now + options.expires
    const token = await addToken(db, account, { name: options.name, expiresAt, now })
    // A token that could not be printed is useless, so it is removed.
    await printAndFlush(token).catch(async (error: unknown) => {
      await removeToken(db, token)
      throw error
    })
  })
}

const notAUser = (login: string) =>
  `${login} is an organization: create a token for a user who administers its repositories`

function lifetime(text: string): number {
  try {
    return duration(text)
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}

function tokenRow(token: TokenRecord): string[] {
  const { id, login, name, createdAt, expiresAt, lastUsedAt, revokedAt } = token
  const expired = expiresAt !== null && expiresAt <= Date.now()
  const state = revokedAt !== null ? 'revoked' : expired ? 'expired' : 'valid'
  return [String(id), login, name || '-', state, ...[createdAt, expiresAt, lastUsedAt].map(ago)]
}
