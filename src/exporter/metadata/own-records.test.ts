import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Account } from '../../accounts/account.ts'
import type { FactKind } from '../../records/facts.ts'
import { readWholeFact } from '../../records/read-records.ts'
import { writeRecord } from '../../records/write-records.ts'
import { addressesFrom } from '../../repositories/addresses.ts'
import { factsOfUnreadable, type RepositoryFacts } from '../../repositories/facts.ts'
import { recordAddressesOf } from './host-addresses.ts'
import { organizationRecord, peopleIn, repositoryRecord, userRecord } from './own-records.ts'
import { protectedBranchRecords } from './protected-branches.ts'

const BASE = 'https://git.example.test'
const addresses = addressesFrom({
  baseUrl: BASE,
  webUrl: `${BASE}/{owner}/{name}`,
  cloneUrl: `${BASE}/{owner}/{name}.git`,
  sshUrl: '',
})
const NOON = Date.UTC(2024, 4, 1, 12)
const alice: Account = { id: 1, login: 'alice', type: 'User', siteAdmin: false, createdAt: NOON }
const octo: Account = { ...alice, id: 2, login: 'octo', type: 'Organization' }

function facts(change: Partial<RepositoryFacts> = {}): RepositoryFacts {
  const { headCommit, templateRepository, forkOf, ...shown } = factsOfUnreadable(NOON)
  const permissions = { admin: true, push: true, pull: true }
  const seen = { fork: false, forksCount: 0, permissions, template: null }
  return { id: 1, name: 'widgets', owner: alice, ...shown, ...seen, ...change }
}
const recordOf = (change: Partial<RepositoryFacts> = {}, migrationOwner = alice) =>
  repositoryRecord(facts(change), { hasWikiInArchive: false, migrationOwner }, addresses)

const words = (text: string) => text.trim().split(/\s+/)

test('a repository and an organization have the settings that archives of github.com have', () => {
  const record = recordOf()
  assert.deepEqual(
    Object.keys(record.security_and_analysis),
    words(`dependency_graph vulnerability_alerts vulnerability_updates advanced_security
      token_scanning token_scanning_push_protection`),
  )
  assert.deepEqual(
    Object.keys(record.general_settings),
    words(`template allow_forking sponsorships projects discussions merge_commit squash_merge rebase_merge
      auto_merge delete_branch_heads update_branch git_lfs_in_archives`),
  )
  assert.deepEqual(
    Object.keys(record.actions_general_settings),
    words(`actions_disabled allows_all_actions allows_local_actions_only allows_github_owned_actions
      allows_verified_actions allows_specific_actions_patterns patterns`),
  )
  const organization = organizationRecord({ account: octo, members: [] }, addresses)
  assert.equal(Object.keys(organization.member_privileges).length, 14)
  assert.equal(organization.member_privileges.default_repository_permission, 'none')
  assert.deepEqual(organization.repository_defaults, {
    repository_default_branch: 'main',
    commit_signoff: false,
    repository_labels: [],
  })
})

test('issues and downloads are there unless the operator said otherwise', () => {
  const said = ({ has_issues, has_downloads }: ReturnType<typeof recordOf>) => [
    has_issues,
    has_downloads,
  ]
  assert.deepEqual(said(recordOf()), [true, true])
  assert.deepEqual(said(recordOf({ turnedOff: ['hasIssues'] })), [false, true])
  assert.deepEqual(said(recordOf({ turnedOff: ['hasIssues', 'hasDownloads'] })), [false, false])
})

test('times of topics have milliseconds and a zone; whoever made them is a user', () => {
  const creatorOf = (change: Partial<RepositoryFacts>, migrationOwner = alice) =>
    recordOf({ topics: ['birds'], ...change }, migrationOwner).repository_topics[0]!.creator
  const [topic] = recordOf({ topics: ['birds'] }).repository_topics
  assert.equal(topic!.created_at, '2024-05-01T12:00:00.000+00:00')
  assert.equal(creatorOf({}, octo), `${BASE}/alice`)
  assert.equal(creatorOf({ owner: octo }), `${BASE}/alice`)
  const collaborators = [
    { login: 'bob', permission: 'write' as const },
    { login: 'carol', permission: 'admin' as const },
  ]
  assert.equal(creatorOf({ owner: octo, collaborators }, octo), `${BASE}/carol`)
  assert.equal(creatorOf({ owner: octo }, octo), null)
})

test('what a host refuses of pushes becomes a rule for the default branch', () => {
  const rulesOf = (denies: RepositoryFacts['denies']) =>
    protectedBranchRecords(
      facts({ ...(denies && { denies }), defaultBranch: 'a/b' }),
      alice,
      addresses,
    )
  assert.deepEqual(rulesOf(undefined), [])
  const [rule, ...more] = rulesOf(['deletes'])
  assert.deepEqual(more, [])
  assert.equal(Object.keys(rule!).length, 27)
  assert.deepEqual(
    [rule!.name, rule!.url, rule!.repository_url, rule!.creator_url],
    [
      'a/b',
      `${BASE}/alice/widgets/settings/branches/a%2Fb`,
      `${BASE}/alice/widgets`,
      `${BASE}/alice`,
    ],
  )
  const levels = ({
    block_deletions_enforcement_level: deletions,
    block_force_pushes_enforcement_level: forced,
    allows_deletions,
    allows_force_pushes,
  }: typeof rule & object) => [deletions, forced, allows_deletions, allows_force_pushes]
  assert.deepEqual(levels(rule!), [2, 0, false, true])
  assert.deepEqual(levels(rulesOf(['nonFastForwards', 'deletes'])[0]!), [2, 2, false, false])
})

test('a login of which nothing else is known is as old as the oldest repository that names it', () => {
  const collaborators = [{ login: 'bob', permission: 'write' as const }]
  const all = [facts({ collaborators }), facts({ collaborators, createdAt: NOON - 1000 })]
  for (const some of [all, all.toReversed()])
    assert.deepEqual(peopleIn(alice, some, [])[1], {
      login: 'bob',
      id: null,
      createdAt: NOON - 1000,
    })
})

/** The exporter knows repositories by other facts than records do; both must write one shape. */
test('our own records are what the writer of records makes of them, but for settings', () => {
  const rich = facts({
    owner: octo,
    topics: ['birds'],
    collaborators: [{ login: 'bob', permission: 'admin' }],
    denies: ['deletes'],
    defaultBranch: "what's (new)*",
  })
  const options = { hasWikiInArchive: true, migrationOwner: alice }
  const members = [{ account: alice, role: 'owner' as const }]
  const own: [FactKind, object][] = [
    ['users', userRecord(alice, addresses)],
    ['organizations', organizationRecord({ account: octo, members }, addresses)],
    ['repositories', repositoryRecord(rich, options, addresses)],
    ...protectedBranchRecords(rich, alice, addresses).map((rule): [FactKind, object] => [
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
