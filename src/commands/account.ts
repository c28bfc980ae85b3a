import { type Command, Option } from 'commander'
import { type Account, type AccountType, accountTypes } from '../accounts/account.ts'
import {
  type AccountChange,
  findAccount,
  listAccounts,
  setAccount,
} from '../accounts/account-store.ts'
import { nameRefusal } from '../ground/names.ts'
import { withDatabase } from '../service/open-database.ts'
import { Misuse, UserMistake } from '../user-mistake.ts'
import { addCommand, configOf, printTable, withExamples } from './command-line.ts'

export function accountCommands(program: Command, about: string): void {
  const account = program.command('account').description(about)
  withExamples(account, 'godwit account list', 'godwit account set octo --type Organization')

  const list = addCommand(account, 'list', 'list all accounts')
  withExamples(list, 'godwit account list').action(async (_options, command: Command) => {
    const accounts = await withDatabase(configOf(command), ({ db }) => listAccounts(db))
    printAccounts(accounts)
  })

  const show = addCommand(account, 'show <login>', 'show one account')
  withExamples(show, 'godwit account show alice').action(
    async (login: string, _options, command: Command) => {
      const found = await withDatabase(configOf(command), ({ db }) => findAccount(db, login))
      if (!found)
        throw new UserMistake(
          `account ${login} does not exist: \`godwit account list\` shows all accounts`,
        )
      printAccounts([found])
    },
  )

  const set = addCommand(account, 'set <login>', 'change an account, or create it')
  withExamples(
    set,
    'godwit account set octo --type Organization',
    'godwit account set alice --site-admin',
  )
  set
    .addOption(new Option('--type <type>', 'type of the account').choices(accountTypes))
    .option('--site-admin', 'may see the whole service')
    .option('--no-site-admin', 'may see only its own migrations')
    .action(changeAccount)
}

interface AccountOptions {
  type?: AccountType
  siteAdmin?: boolean
}

async function changeAccount(
  login: string,
  options: AccountOptions,
  command: Command,
): Promise<void> {
  const refusal = nameRefusal(login)
  if (refusal) throw new Misuse(`"${login}" cannot be a login: ${refusal}`)
  const change: AccountChange = {
    ...(options.type && { type: options.type }),
    ...(options.siteAdmin !== undefined && { siteAdmin: options.siteAdmin }),
  }
  printAccounts([
    await withDatabase(configOf(command), ({ db }) => setAccount(db, login, change, Date.now())),
  ])
}

function printAccounts(accounts: Account[]): void {
  printTable([
    ['ID', 'LOGIN', 'TYPE', 'SITE ADMIN'],
    ...accounts.map(({ id, login, type, siteAdmin }) => [
      String(id),
      login,
      type,
      siteAdmin ? 'yes' : 'no',
    ]),
  ])
}
