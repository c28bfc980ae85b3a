import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Account } from '../../accounts/account.ts'
import { addressesFrom } from '../../repositories/addresses.ts'
import {
  metadataOfUnreadable,
  type RepositoryMetadata,
} from '../../repositories/repository-metadata.ts'
import {
  hostUrlsOf,
  ORGANIZATION_SETTINGS,
  peopleIn,
  protectedBranchRecords,
  repositoryRecordOf,
  repositorySettings,
} from './index-records.ts'

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

function metadata(change: Partial<RepositoryMetadata> = {}): RepositoryMetadata {
  const { headCommit, templateRepository, forkOf, ...shown } = metadataOfUnreadable(NOON)
  const permissions = { admin: true, push: true, pull: true }
  const seen = { fork: false, forksCount: 0, permissions, template: null }
  return { id: 1, name: 'widgets', owner: alice, ...shown, ...seen, ...change }
}
const recordOf = (change: Partial<RepositoryMetadata> = {}, migrationOwner = alice) =>
  repositoryRecordOf(metadata(change), migrationOwner)

const words = (text: string) => text.trim().split(/\s+/)

test('a repository and an organization have the settings that archives of github.com have', () => {
  const settings = repositorySettings(metadata())
  assert.deepEqual(
    Object.keys(settings.security_and_analysis),
    words(`dependency_graph vulnerability_alerts vulnerability_updates advanced_security
      token_scanning token_scanning_push_protection`),
  )
  assert.deepEqual(
    Object.keys(settings.general_settings),
    words(`template allow_forking sponsorships projects discussions merge_commit squash_merge rebase_merge
      auto_merge delete_branch_heads update_branch git_lfs_in_archives`),
  )
  assert.deepEqual(
    Object.keys(settings.actions_general_settings),
    words(`actions_disabled allows_all_actions allows_local_actions_only allows_github_owned_actions
      allows_verified_actions allows_specific_actions_patterns patterns`),
  )
  const { member_privileges, repository_defaults } = ORGANIZATION_SETTINGS
  assert.equal(Object.keys(member_privileges).length, 14)
  assert.equal(member_privileges.default_repository_permission, 'none')
  assert.deepEqual(repository_defaults, {
    repository_default_branch: 'main',
    commit_signoff: false,
    repository_labels: [],
  })
})

test('issues and downloads are on unless the operator turned them off', () => {
  const features = ({ hasIssues, hasDownloads }: ReturnType<typeof recordOf>) => [
    hasIssues,
    hasDownloads,
  ]
  assert.deepEqual(features(recordOf()), [true, true])
  assert.deepEqual(features(recordOf({ turnedOff: ['hasIssues'] })), [false, true])
  assert.deepEqual(features(recordOf({ turnedOff: ['hasIssues', 'hasDownloads'] })), [false, false])
})

test('topics have a user as creator, and times with milliseconds and zone', () => {
  const creatorOf = (change: Partial<RepositoryMetadata>, migrationOwner = alice) =>
    recordOf({ topics: ['birds'], ...change }, migrationOwner).topics?.[0]?.creator
  const [topic] = recordOf({ topics: ['birds'] }).topics ?? []
  assert.equal(topic!.createdAt, '2024-05-01T12:00:00.000+00:00')
  assert.equal(creatorOf({}, octo), 'alice')
  assert.equal(creatorOf({ owner: octo }), 'alice')
  const collaborators = [
    { login: 'bob', permission: 'write' as const },
    { login: 'carol', permission: 'admin' as const },
  ]
  assert.equal(creatorOf({ owner: octo, collaborators }, octo), 'carol')
  assert.equal(creatorOf({ owner: octo }, octo), null)
})

test('refused pushes become a rule for the default branch', () => {
  const rulesOf = (denies: RepositoryMetadata['denies']) =>
    protectedBranchRecords(
      metadata({ ...(denies && { denies }), defaultBranch: 'a/b' }),
      alice,
      hostUrlsOf(addresses),
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

test('a login without account is as old as the oldest repository that lists it', () => {
  const collaborators = [{ login: 'bob', permission: 'write' as const }]
  const all = [metadata({ collaborators }), metadata({ collaborators, createdAt: NOON - 1000 })]
  for (const some of [all, all.toReversed()])
    assert.deepEqual(peopleIn(alice, some, [])[1], {
      login: 'bob',
      id: null,
      createdAt: NOON - 1000,
    })
})
