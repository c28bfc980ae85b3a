import { type Command, Option } from 'commander'
import {
  type Account,
  type Membership,
  type MembershipRole,
  membershipRoles,
} from '../accounts/account.ts'
import { listMemberships, putMembership, removeMembership } from '../accounts/membership-store.ts'
import type { Db } from '../db/database.ts'
import { UserError } from '../lib/user-error.ts'
import { withDatabase } from '../service/open-database.ts'
import { requireAccount } from './account.ts'
import {
  addCommand,
  addSettings,
  configAsDataOwner,
  printMessage,
  printResult,
  printTable,
  type Table,
  withExamples,
} from './command-line.ts'

export function memberCommands(program: Command, about: string): void {
  const member = program.command('member').description(about)
  withExamples(member, 'godwit member add octo alice --role owner', 'godwit member list octo')

  const add = member.command('add <org> <login>').description('add a member, or change the role')
  withExamples(addSettings(add, 'role'), 'godwit member add octo alice --role owner')
    .addOption(
      new Option('--role <role>', 'an owner may migrate the organization')
        .choices(membershipRoles)
        .default('member'),
    )
    .action(addMember)

  addCommand(
    member,
    'remove <org> <login>',
    'remove a member',
    'godwit member remove octo alice',
  ).action(async (org: string, login: string, _options, command: Command) => {
    await withDatabase(configAsDataOwner(command), ({ db }) => removeMember(db, org, login))
  })

  addCommand(
    member,
    'list [org]',
    'list the members of one organization, or of all',
    'godwit member list octo',
    'godwit member list --json',
  )
    .option('--json', 'print the members as JSON')
    .action(async (org: string | undefined, { json }: { json?: boolean }, command: Command) => {
      const all = await withDatabase(configAsDataOwner(command), async ({ db }) =>
        listMemberships(db, org === undefined ? undefined : await findOrganization(db, org)),
      )
      printResult({ isJson: json }, all.map(membershipJson), membershipRows(all))
    })
}

async function addMember(
  org: string,
  login: string,
  { role }: { role: MembershipRole },
  command: Command,
): Promise<void> {
  await withDatabase(configAsDataOwner(command), async ({ db }) => {
    const { organization, account } = await findBoth(db, org, login)
    await putMembership(db, organization, { accountId: account.id, role }, 'manual')
    printTable(membershipRows(await membershipsOf(db, organization, account)))
  })
}

async function removeMember(db: Db, org: string, login: string): Promise<void> {
  const { organization, account } = await findBoth(db, org, login)
  const removed = await removeMembership(db, organization, account, 'manual')
  const [remaining] = await membershipsOf(db, organization, account)
  if (remaining) {
    const message = `${account.login} is ${remaining.role} of ${organization.login} by ${ORIGINS[remaining.origin](organization)}`
    if (!removed) throw new UserError(message)
    printMessage(message)
  } else if (!removed) {
    throw new UserError(`${account.login} is not a member of ${organization.login}`)
  }
}

const ORIGINS: Record<Membership['origin'], (organization: Account) => string> = {
  manual: () => '`godwit member add`',
  file: ({ login }) => `the file ${login}/godwit-members; change it and run \`godwit sync\``,
  forge: () => 'the forge',
}

async function findBoth(db: Db, org: string, login: string) {
  const organization = await findOrganization(db, org)
  const account = await requireAccount(db, login)
  if (account.type !== 'User')
    throw new UserError(`${account.login} is an organization and cannot be a member`)
  return { organization, account }
}

async function findOrganization(db: Db, login: string): Promise<Account> {
  const account = await requireAccount(db, login, ' --type Organization')
  if (account.type === 'Organization') return account
  throw new UserError(
    `${account.login} is a user: \`godwit account set ${account.login} --type Organization\` makes it an organization`,
  )
}

async function membershipsOf(db: Db, organization: Account, { id }: Account) {
  return (await listMemberships(db, organization)).filter(({ member }) => member.id === id)
}

const membershipJson = ({ organization, member, role, origin }: Membership) => ({
  organization: organization.login,
  login: member.login,
  role,
  origin,
})

const membershipRows = (all: readonly Membership[]): Table => [
  ['ORGANIZATION', 'LOGIN', 'ROLE', 'FROM'],
  ...all.map(({ organization, member, role, origin }) => [
    organization.login,
    member.login,
    role,
    origin,
  ]),
]
