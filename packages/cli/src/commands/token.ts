import { formatCount } from '@godwit/lib/quantities'
import { UsageError, UserError } from '@godwit/lib/user-error'
import { inAuditedTransaction } from '@godwit/server/accounts/audit-log'
import { closeSessionsOf } from '@godwit/server/accounts/session-store'
import {
  addToken,
  listTokens,
  removeToken,
  revokeToken,
  revokeTokensOf,
  type TokenRecord,
} from '@godwit/server/accounts/token-store'
import { replaceKey } from '@godwit/server/db/secret-store'
import type { Command } from 'commander'
import { durationOrZero } from '../settings/config-values.ts'
import { aboutAccount, requireAccount } from './account.ts'
import {
  addCommand,
  addCommandWithoutJson,
  idArgument,
  parsed,
  withExamples,
} from './command-line.ts'
import { tokenRows } from './format-tokens.ts'
import {
  isoTime,
  type JsonOption,
  printAndFlush,
  printResult,
  protectNewOutputFile,
} from './print.ts'
import { COMMAND_LINE, changeDatabase, withServiceDatabase } from './service-database.ts'
import { DATABASE } from './service-settings.ts'

export function tokenCommands(program: Command, about: string): void {
  const token = withExamples(program.command('token').description(about), [
    'godwit token add alice --name laptop --expires 90d',
    'godwit token list',
  ])
  addCommand(
    token,
    'add <login>',
    'create a token and print it; it is not shown again',
    ['godwit token add alice --name laptop --expires 90d > token'],
    DATABASE,
  )
    .option('--name <name>', 'name of the token', '')
    .option(
      '--expires <duration>',
      'how long the token is valid, such as 90d; 0 for no expiry',
      parsed('--expires', durationOrZero),
      0,
    )
    .action(createToken)

  addCommand(
    token,
    'list',
    'list all tokens, without the secrets',
    ['godwit token list'],
    DATABASE,
  ).action(async ({ json }: JsonOption, command: Command) => {
    const tokens = (await withServiceDatabase(command, listTokens)).map(jsonOf)
    printResult({ json }, tokens, tokenRows(tokens), 'no tokens yet')
  })

  addCommand(token, 'show', 'show one token, without its secret', ['godwit token show 7'], DATABASE)
    .argument(...idArgument('token'))
    .action(async (id: number, { json }: JsonOption, command: Command) => {
      const tokens = (await withServiceDatabase(command, listTokens)).map(jsonOf)
      const found = tokens.find((each) => each.id === id)
      if (!found)
        throw new UserError(`token ${id} does not exist: \`godwit token list\` shows all tokens`)
      printResult({ json }, found, tokenRows([found]))
    })

  addCommandWithoutJson(
    token,
    'replace-clone-key',
    'replace the key of temp_clone_token: issued tokens become invalid within 10 seconds',
    ['godwit token replace-clone-key'],
    DATABASE,
  ).action((_options, command: Command) =>
    changeDatabase(command, async (tx, record) => {
      await replaceKey(tx, 'clone-key')
      await record(tx, 'clone_key.replace')
    }),
  )

  const [, idHelp, readId] = idArgument('token')
  addCommand(
    token,
    'remove',
    'revoke a token, or all tokens and browser sessions of an account',
    ['godwit token remove 7', 'godwit token remove --all-of alice'],
    DATABASE,
  )
    .argument('[id]', idHelp, readId)
    .option('--all-of <LOGIN>', 'all tokens of this account, and sign out its browsers')
    .action(removeTokens)
}

async function removeTokens(
  id: number | undefined,
  { allOf, json }: JsonOption & { allOf?: string },
  command: Command,
): Promise<void> {
  if ((id === undefined) === (allOf === undefined))
    throw new UsageError('give the ID of a token, or --all-of LOGIN')
  if (allOf !== undefined) {
    const value = await changeDatabase(command, async (tx, record) => {
      const account = await requireAccount(tx, allOf)
      // The sessions end first, so that they cannot create another token.
      await closeSessionsOf(tx, account)
      await record(tx, 'session.close-all', aboutAccount(account))
      const revoked = await revokeTokensOf(tx, account, { now: Date.now(), bySelf: false })
      for (const each of revoked)
        await record(tx, 'token.revoke', { subject: `token ${each}`, owner: account })
      return { login: account.login, revoked }
    })
    return printResult({ json }, value, `${formatCount(value.revoked.length, 'token')} revoked`)
  }
  await changeDatabase(command, async (tx, record) => {
    const owner = await revokeToken(tx, id!, Date.now())
    if (!owner)
      throw new UserError(
        `token ${id} does not exist or is not valid: \`godwit token list\` shows all tokens`,
      )
    await record(tx, 'token.revoke', { subject: `token ${id}`, owner })
  })
  printResult({ json }, { id, revoked: true }, `token ${id} revoked`)
}

const jsonOf = (token: TokenRecord) => ({
  id: token.id,
  login: token.login,
  name: token.name,
  read_only: token.isReadOnly,
  organization: token.organization,
  created_at: isoTime(token.createdAt),
  expires_at: isoTime(token.expiresAt),
  last_used_at: isoTime(token.lastUsedAt),
  last_used_ip: token.lastUsedIp,
  revoked_at: isoTime(token.revokedAt),
})

async function createToken(
  login: string,
  { name, expires, json }: JsonOption & { name: string; expires: number },
  command: Command,
): Promise<void> {
  const now = Date.now()
  // Later, the process may have switched to the user that owns the data.
  protectNewOutputFile()
  await withServiceDatabase(command, async (db) => {
    const account = await requireAccount(db, login)
    if (account.type !== 'User')
      throw new UserError(
        `${account.login} is an organization: create a token for a user who administers its repositories`,
      )
    const expiresAt = expires === 0 ? null : now + expires
    const dependencies = { db, now: Date.now }
    const about = { ...aboutAccount(account), details: { name } }
    const token = await inAuditedTransaction(dependencies, COMMAND_LINE, async (tx, record) => {
      const added = await addToken(tx, account, { name, expiresAt, now })
      await record(tx, 'token.create', about)
      return added
    })
    const value = { login: account.login, name, expires_at: isoTime(expiresAt), token }
    // A token that could not be printed is useless, so it is removed.
    const text = json ? JSON.stringify(value, null, 2) : token
    await printAndFlush(text).catch(async (error: unknown) => {
      await inAuditedTransaction(dependencies, COMMAND_LINE, async (tx, record) => {
        await removeToken(tx, token)
        await record(tx, 'token.revoke', about)
      })
      throw error
    })
  })
}
