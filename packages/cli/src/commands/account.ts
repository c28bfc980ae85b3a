import { invalidNameReason } from '@godwit/lib/names'
import { formatBytes } from '@godwit/lib/quantities'
import { UsageError, UserError } from '@godwit/lib/user-error'
import { type Account, type AccountType, accountTypes } from '@godwit/server/accounts/account'
import {
  findAccount,
  listAccounts,
  removeUnusedAccount,
  upsertAccount,
} from '@godwit/server/accounts/account-store'
import type { RecordAudit } from '@godwit/server/accounts/audit-log'
import { unbindIdentity } from '@godwit/server/accounts/identity-store'
import type { Db } from '@godwit/server/db/database'
import { listQuotas, setQuota } from '@godwit/server/migrations/quota'
import { type Command, Option } from 'commander'
import { byteLimit } from '../settings/config-values.ts'
import { addCommand, parsed, withExamples } from './command-line.ts'
import { type JsonOption, printResult } from './print.ts'
import { changeDatabase, withServiceDatabase } from './service-database.ts'
import { DATABASE } from './service-settings.ts'
import { type Table, tableOf } from './table.ts'

export function accountCommands(program: Command, about: string): void {
  const account = withExamples(program.command('account').description(about), [
    'godwit account list',
    'godwit account add octo --type Organization',
  ])
  addCommand(
    account,
    'list',
    'list all accounts',
    ['godwit account list', 'godwit account list --json'],
    DATABASE,
  ).action(async ({ json }: JsonOption, command: Command) => {
    const accounts = await withServiceDatabase(command, async (db) => {
      const quotas = await listQuotas(db)
      return (await listAccounts(db)).map((each) => jsonOf(each, quotas))
    })
    printResult({ json }, accounts, accountRows(accounts), 'no accounts yet')
  })

  addCommand(
    account,
    'show <login>',
    'show one account',
    ['godwit account show alice'],
    DATABASE,
  ).action(async (login: string, { json }: JsonOption, command: Command) => {
    const found = await withServiceDatabase(command, async (db) =>
      jsonOf(await requireAccount(db, login), await listQuotas(db)),
    )
    printResult({ json }, found, accountRows([found]))
  })

  addAccountCommand(
    account,
    'add <login>',
    'add an account; `godwit sync` adds those that own repositories',
    ['godwit account add octo --type Organization', 'godwit account add alice --site-admin'],
  ).action((login: string, options: AccountOptions, command: Command) =>
    changeAccount(login, options, command, { isNew: true }),
  )
  addAccountCommand(
    account,
    'edit <login>',
    'change the type, the permissions or the quota of an account, or who may sign in as it',
    [
      'godwit account edit alice --site-admin',
      'godwit account edit octo --max-archive-bytes 50G',
      'godwit account edit alice --unbind',
    ],
  )
    .option(
      '--unbind',
      'let the next person who signs in with this login have the account, and sign out its browsers; its tokens stay',
    )
    .action((login: string, options: AccountOptions, command: Command) => {
      const { type, siteAdmin, unbind, maxArchiveBytes } = options
      if ([type, siteAdmin, unbind, maxArchiveBytes].every((each) => each === undefined))
        throw new UsageError(
          'nothing to change: give --type, --site-admin, --no-site-admin, --max-archive-bytes or --unbind',
        )
      return changeAccount(login, options, command, { isNew: false })
    })
  addCommand(
    account,
    'remove <login>',
    'remove an account that was never used',
    ['godwit account remove alcie'],
    DATABASE,
  ).action(async (login: string, { json }: JsonOption, command: Command) => {
    const found = await changeDatabase(command, async (tx, record) => {
      const account = await requireAccount(tx, login)
      if (!(await removeUnusedAccount(tx, account)))
        throw new UserError(
          `${account.login} has tokens, repositories, members or migrations, so it is kept; \`godwit token remove\` makes it unusable`,
        )
      await record(tx, 'account.remove', aboutAccount(account))
      return account
    })
    printResult({ json }, { ...jsonOf(found), removed: true }, `account ${found.login} removed`)
  })
}

/** Adds a command that changes an account. */
function addAccountCommand(parent: Command, name: string, about: string, examples: string[]) {
  return addCommand(parent, name, about, examples, DATABASE)
    .addOption(new Option('--type <type>', 'type of the account').choices(accountTypes))
    .option('--site-admin', 'may see and manage migrations, locks and tokens of all accounts')
    .option(
      '--no-site-admin',
      'may see and manage only what belongs to it and to its organizations',
    )
    .option(
      '--max-archive-bytes <bytes>',
      'quota: what its archives may add up to, such as 50G; none, or default for the setting of the service',
      parsed('--max-archive-bytes', (text) => (text === 'default' ? text : byteLimit(text))),
    )
}

interface AccountOptions extends JsonOption {
  type?: AccountType
  siteAdmin?: boolean
  unbind?: boolean
  /** Infinity for none. */
  maxArchiveBytes?: number | 'default'
}

async function changeAccount(
  login: string,
  options: AccountOptions,
  command: Command,
  { isNew }: { isNew: boolean },
): Promise<void> {
  const reason = invalidNameReason(login)
  if (reason) throw new UsageError(`"${login}" cannot be a login: ${reason}`)
  const { type, siteAdmin, unbind, maxArchiveBytes: max } = options
  const change = { ...(type && { type }), ...(siteAdmin !== undefined && { siteAdmin }) }
  const act = async (tx: Db, record: RecordAudit) => {
    const existing = isNew ? await findAccount(tx, login) : await requireAccount(tx, login)
    if (isNew && existing)
      throw new UserError(
        `account ${existing.login} exists already: change it with \`godwit account edit ${existing.login}\``,
      )
    if (existing && unbind && !(await unbindIdentity(tx, existing, Date.now())))
      throw new UserError(`${existing.login} has not signed in by OpenID Connect or a proxy`)
    const account = await upsertAccount(tx, login, change, Date.now())
    if (max !== undefined) await setQuota(tx, account, max === 'default' ? null : max)
    const quota = max !== undefined && { quota: formatQuota(quotaJson(max)) }
    const details = { ...change, ...(unbind && { unbind }), ...quota }
    const action = isNew ? 'account.create' : 'account.update'
    await record(tx, action, { ...aboutAccount(account), details })
    return jsonOf(account, await listQuotas(tx))
  }
  const changed = await changeDatabase(command, act, { create: isNew })
  printResult(options, changed, accountRows([changed]))
}

/** Finds an account that another command needs. `flags` are added to the command that the error suggests. */
export async function requireAccount(db: Db, login: string, flags = ''): Promise<Account> {
  const account = await findAccount(db, login)
  if (account) return account
  throw new UserError(
    `account ${login} does not exist: check the spelling (\`godwit account list\` shows all accounts), run \`godwit sync\` if it owns repositories, or add it with \`godwit account add ${login}${flags}\``,
  )
}

/** Returns what the audit log says about a change of an account. */
export const aboutAccount = (account: Account) => ({
  subject: `account ${account.login}`,
  owner: account,
})

const jsonOf = ({ id, login, type, siteAdmin }: Account, quotas?: ReadonlyMap<number, number>) => ({
  id,
  login,
  type,
  site_admin: siteAdmin,
  max_archive_bytes: quotaJson(quotas?.get(id) ?? 'default'),
})

const quotaJson = (max: number | 'default') => (max === Number.POSITIVE_INFINITY ? 'none' : max)

const formatQuota = (quota: number | string): string =>
  typeof quota === 'string' ? quota : formatBytes(quota)

const accountRows = (accounts: readonly ReturnType<typeof jsonOf>[]): Table =>
  tableOf(accounts, {
    ID: ({ id }) => id,
    LOGIN: ({ login }) => login,
    TYPE: ({ type }) => type,
    'SITE ADMIN': ({ site_admin }) => (site_admin ? 'yes' : 'no'),
    QUOTA: ({ max_archive_bytes }) => formatQuota(max_archive_bytes),
  })
