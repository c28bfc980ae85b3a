import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Account } from '../../accounts/account.ts'
import type { FactKind } from '../../records/facts.ts'
import { readWholeFact } from '../../records/read-records.ts'
import { writeRecord } from '../../records/write-records.ts'
import { addressesFrom } from '../../repositories/addresses.ts'
import { factsOfUnreadable, type RepositoryFacts } from '../../repositories/facts.ts'
import { recordAddressesOf } from './host-addresses.ts'
import { organizationRecord, repositoryRecord, userRecord } from './own-records.ts'
import { protectedBranchRecords } from './protected-branches.ts'

const HOST = 'https://git.example.test'
const addresses = addressesFrom({
  baseUrl: HOST,
  webUrl: `${HOST}/{owner}/{name}`,
  cloneUrl: `${HOST}/{owner}/{name}.git`,
  sshUrl: '',
})
const NOON = Date.UTC(2024, 4, 1, 12)
const alice: Account = { id: 1, login: 'alice', type: 'User', siteAdmin: false, createdAt: NOON }
const octo: Account = { ...alice, id: 2, login: 'octo', type: 'Organization' }

function repositoryFacts(): RepositoryFacts {
  const { headCommit, templateRepository, forkOf, ...shown } = factsOfUnreadable(NOON)
  const permissions = { admin: true, push: true, pull: true }
  const seen = { fork: false, forksCount: 0, permissions, template: null }
  return {
    ...{ id: 1, name: 'widgets', owner: octo, ...shown, ...seen },
    topics: ['birds'],
    collaborators: [{ login: 'bob', permission: 'admin' }],
    denies: ['deletes'],
    defaultBranch: "what's (new)*",
  }
}

/** The exporter knows repositories by other facts than records do; both must write one shape. */
test('our own records are what the writer of records makes of them, but for settings', () => {
  const facts = repositoryFacts()
  const options = { hasWikiInArchive: true, migrationOwner: alice }
  const members = [{ account: alice, role: 'owner' as const }]
  const own: [FactKind, object][] = [
    ['users', userRecord(alice, addresses)],
    ['organizations', organizationRecord({ account: octo, members }, addresses)],
    ['repositories', repositoryRecord(facts, options, addresses)],
    ...protectedBranchRecords(facts, alice, addresses).map((rule): [FactKind, object] => [
      'protected_branches',
      rule,
    ]),
  ]
  const where = recordAddressesOf(addresses)
  const settings = own.map(([kind, record]) => {
    const fact = readWholeFact(kind, record, where)
    assert.deepEqual(writeRecord(kind, fact, where), record)
    return [kind, Object.keys(fact.rest ?? {}).sort()]
  })
  assert.deepEqual(Object.fromEntries(settings), {
    users: [],
    organizations: ['member_privileges', 'repository_defaults'],
    repositories: [
      'actions_general_settings',
      'autolinks',
      'general_settings',
      'security_and_analysis',
    ],
    protected_branches: [],
  })
})
