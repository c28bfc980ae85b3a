import { type Command, Option } from 'commander'
import { type Account, type AccountType, accountTypes } from '../accounts/account.ts'
import {
  type AccountChange,
  findAccount,
  listAccounts,
  upsertAccount,
} from '../accounts/account-store.ts'
import type { Database, Db } from '../db/database.ts'
import { invalidNameReason } from '../lib/names.ts'
import { UsageError, UserError } from '../lib/user-error.ts'
import { withDatabase } from '../service/open-database.ts'
import {
  addCommand,
  configAsDataOwner,
  printResult,
  printTable,
  type Table,
  withExamples,
} from './command-line.ts'

export function accountCommands(program: Command, about: string): void {
  const account = program.command('account').description(about)
  withExamples(account, 'godwit account list', 'godwit account set octo --type Organization')

  addCommand(
    account,
    'list',
    'list all accounts',
    'godwit account list',
    'godwit account list --json',
  )
    .option('--json', 'print the accounts as JSON')
    .action(async ({ json }: JsonOption, command: Command) => {
      const accounts = await withDatabase(configAsDataOwner(command), ({ db }) => listAccounts(db))
      printResult({ isJson: json }, accounts.map(jsonOf), accountRows(accounts))
    })

  addCommand(account, 'show <login>', 'show one account', 'godwit account show alice')
    .option('--json', 'print the account as JSON')
    .action(async (login: string, { json }: JsonOption, command: Command) => {
      const config = configAsDataOwner(command)
      const found = await withDatabase(config, ({ db }) => findAccount(db, login))
      if (!found) throw new UserError(`account ${login} does not exist: ${SEE_ALL}`)
      printResult({ isJson: json }, jsonOf(found), accountRows([found]))
    })

  addCommand(
    account,
    'set <login>',
    'change an account, or create it with --create',
    'godwit account set alice --site-admin',
    'godwit account set octo --type Organization --create',
  )
    .option('--create', 'create the account if it does not exist')
    .addOption(new Option('--type <type>', 'type of the account').choices(accountTypes))
    .option('--site-admin', 'may see and manage migrations, locks and tokens of all accounts')
    .option(
      '--no-site-admin',
      'may see and manage only what belongs to it and to its organizations',
    )
    .action(changeAccount)
}

const SEE_ALL = '`godwit account list` shows all accounts'

interface JsonOption {
  json?: boolean
}

interface AccountOptions {
  create?: boolean
  type?: AccountType
  siteAdmin?: boolean
}

async function changeAccount(
  login: string,
  options: AccountOptions,
  command: Command,
): Promise<void> {
  const reason = invalidNameReason(login)
  if (reason) throw new UsageError(`"${login}" cannot be a login: ${reason}`)
  const change: AccountChange = {
    ...(options.type && { type: options.type }),
    ...(options.siteAdmin !== undefined && { siteAdmin: options.siteAdmin }),
  }
  const { create = false } = options
  const act = async ({ db }: Pick<Database, 'db'>) => {
    if (!create && !(await findAccount(db, login)))
      throw new UserError(
        `account ${login} does not exist: check the spelling (${SEE_ALL}), or add --create to create it`,
      )
    return upsertAccount(db, login, change, Date.now())
  }
  printTable(accountRows([await withDatabase(configAsDataOwner(command), act, { create })]))
}

/** Finds an account that another command needs. `flags` are added to the suggested command that creates it. */
export async function requireAccount(db: Db, login: string, flags = ''): Promise<Account> {
  const account = await findAccount(db, login)
  if (account) return account
  throw new UserError(
    `account ${login} does not exist: run \`godwit sync\` if it owns repositories, or \`godwit account set ${login}${flags} --create\``,
  )
}

const jsonOf = ({ id, login, type, siteAdmin }: Account) => ({
  id,
  login,
  type,
  site_admin: siteAdmin,
})

const accountRows = (accounts: readonly Account[]): Table => [
  ['ID', 'LOGIN', 'TYPE', 'SITE ADMIN'],
  ...accounts.map(({ id, login, type, siteAdmin }) => [
    String(id),
    login,
    type,
    siteAdmin ? 'yes' : 'no',
  ]),
]
