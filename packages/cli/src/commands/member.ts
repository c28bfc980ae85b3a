import { UserError } from '@godwit/lib/user-error'
import { type Account, type MembershipRole, membershipRoles } from '@godwit/server/accounts/account'
import type { RecordAudit } from '@godwit/server/accounts/audit-log'
import {
  listMemberships,
  type Membership,
  putMembership,
  removeMembership,
} from '@godwit/server/accounts/membership-store'
import type { Db } from '@godwit/server/db/database'
import { type Command, Option } from 'commander'
import { aboutAccount, requireAccount } from './account.ts'
import { addCommand, withExamples } from './command-line.ts'
import { type JsonOption, printMessage, printResult } from './print.ts'
import { changeDatabase, withServiceDatabase } from './service-database.ts'
import { DATABASE } from './service-settings.ts'
import { tableOf } from './table.ts'

export function memberCommands(program: Command, about: string): void {
  const member = withExamples(program.command('member').description(about), [
    'godwit member add octo alice --role owner',
    'godwit member list octo',
  ])
  for (const [verb, about] of [
    ['add', 'add a member to an organization'],
    ['edit', 'change the role of a member'],
  ] as const) {
    const role = new Option('--role <role>', 'an owner may migrate the organization')
    role.choices(membershipRoles)
    if (verb === 'add') role.default('member')
    else role.makeOptionMandatory()
    const example = `godwit member ${verb} octo alice --role owner`
    addCommand(member, `${verb} <org> <login>`, about, [example], DATABASE)
      .addOption(role)
      .action((org: string, login: string, options: RoleOptions, command: Command) =>
        putMember(command, { org, login, isNew: verb === 'add' }, options),
      )
  }

  addCommand(
    member,
    'show <org> <login>',
    'show one member',
    ['godwit member show octo alice'],
    DATABASE,
  ).action((org: string, login: string, { json }: JsonOption, command: Command) =>
    withServiceDatabase(command, async (db) => {
      const { organization, account } = await findBoth(db, org, login)
      const found = await membershipsOf(db, organization, account)
      if (found.length === 0)
        throw new UserError(`${account.login} is not a member of ${organization.login}`)
      printResult({ json }, found.map(membershipJson), membershipRows(found))
    }),
  )

  addCommand(
    member,
    'remove <org> <login>',
    'remove a member',
    ['godwit member remove octo alice'],
    DATABASE,
  ).action(async (org: string, login: string, { json }: JsonOption, command: Command) => {
    const { organization, account } = await changeDatabase(command, (tx, record) =>
      removeMember(tx, record, org, login),
    )
    const value = { organization: organization.login, login: account.login, removed: true }
    const text = `${account.login} removed from ${organization.login}`
    printResult({ json }, value, text)
  })

  addCommand(
    member,
    'list [org]',
    'list the members of one organization, or of all',
    ['godwit member list octo', 'godwit member list --json'],
    DATABASE,
  ).action(async (org: string | undefined, { json }: JsonOption, command: Command) => {
    const all = await withServiceDatabase(command, async (db) =>
      listMemberships(db, org === undefined ? undefined : await findOrganization(db, org)),
    )
    printResult({ json }, all.map(membershipJson), membershipRows(all), 'no members yet')
  })
}

type RoleOptions = JsonOption & { role: MembershipRole }

async function putMember(
  command: Command,
  { org, login, isNew }: { org: string; login: string; isNew: boolean },
  { role, json }: RoleOptions,
): Promise<void> {
  const all = await changeDatabase(command, async (tx, record) => {
    const { organization, account } = await findBoth(tx, org, login)
    const before = await membershipsOf(tx, organization, account)
    const isKnown = before.some(({ origin }) => origin === 'manual')
    const names = `${organization.login} ${account.login}`
    if (isNew && isKnown)
      throw new UserError(
        `${account.login} is a member of ${organization.login} already: change the role with \`godwit member edit ${names} --role ROLE\``,
      )
    if (!isNew && !isKnown)
      throw new UserError(
        before[0]
          ? describeOrigin(before[0])
          : `${account.login} is not a member of ${organization.login}: \`godwit member add ${names}\` adds it`,
      )
    await putMembership(tx, organization, { accountId: account.id, role }, 'manual')
    const about = { ...aboutAccount(account), details: { organization: organization.login, role } }
    await record(tx, 'member.put', about)
    return membershipsOf(tx, organization, account)
  })
  const changed = all.find(({ origin }) => origin === 'manual')!
  printResult({ json }, membershipJson(changed), membershipRows(all))
}

async function removeMember(tx: Db, record: RecordAudit, org: string, login: string) {
  const { organization, account } = await findBoth(tx, org, login)
  const removed = await removeMembership(tx, organization, account, 'manual')
  const details = { organization: organization.login }
  await record(tx, 'member.remove', { ...aboutAccount(account), details })
  const [remaining] = await membershipsOf(tx, organization, account)
  if (!removed)
    throw new UserError(
      remaining
        ? describeOrigin(remaining)
        : `${account.login} is not a member of ${organization.login}`,
    )
  if (remaining) printMessage(`warning: ${describeOrigin(remaining)}`)
  return { organization, account }
}

const describeOrigin = ({ organization, member, role, origin }: Membership): string =>
  `${member.login} is ${role} of ${organization.login} by ${ORIGINS[origin](organization)}`

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
    `${account.login} is a user: \`godwit account edit ${account.login} --type Organization\` makes it an organization`,
  )
}

const membershipsOf = async (db: Db, organization: Account, { id }: Account) =>
  (await listMemberships(db, organization)).filter(({ member }) => member.id === id)

const membershipJson = ({ organization, member, role, origin }: Membership) => ({
  organization: organization.login,
  login: member.login,
  role,
  origin,
})

const membershipRows = (all: readonly Membership[]) =>
  tableOf(all, {
    ORGANIZATION: ({ organization }) => organization.login,
    LOGIN: ({ member }) => member.login,
    ROLE: ({ role }) => role,
    FROM: ({ origin }) => origin,
  })
