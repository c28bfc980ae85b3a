import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  alice,
  repositoryMetadata,
  startedMigration,
} from '../../../../../test/support/repository-metadata.ts'
import { addressesFrom } from '../../repositories/addresses.ts'
import { migrationJson } from './migration-json.ts'
import { offsetTimestamps } from './rendering.ts'
import { extendedRepositoryJson, plainRepositoryJson } from './repository-json.ts'
import { userJson } from './user-json.ts'

const addresses = addressesFrom({
  baseUrl: 'https://git.example.com/api',
  webUrl: 'https://git.example.com/{owner}/{name}',
  cloneUrl: 'https://git.example.com/{owner}/{name}.git',
  sshUrl: 'git@git.example.com:{owner}/{name}.git',
})
const rendering = {
  addresses,
  migrationTime: offsetTimestamps('Europe/Berlin'),
  renderingVersion: '1',
}

/** The fields of GitHub's API and their types, as in its documentation. */
type Kind = 'integer' | 'string' | 'boolean' | 'address' | 'strings' | 'Z' | 'offset' | 'uuid'
interface FieldTable {
  [field: string]: Kind | `${Kind} or null` | FieldTable | null
}

const USER: FieldTable = {
  login: 'string',
  id: 'integer',
  node_id: 'string',
  avatar_url: 'address',
  gravatar_id: 'string',
  ...fields(
    'url html_url followers_url following_url gists_url starred_url subscriptions_url organizations_url repos_url ' +
      'events_url received_events_url',
    'address',
  ),
  type: 'string',
  site_admin: 'boolean',
}

const LICENSE: FieldTable = {
  ...fields('key name spdx_id node_id', 'string'),
  ...fields('url html_url', 'address'),
}

const REPOSITORY: FieldTable = {
  id: 'integer',
  ...fields('node_id name full_name description default_branch visibility', 'string'),
  owner: USER,
  homepage: 'address or null',
  language: 'string or null',
  ...fields('forks_count stargazers_count watchers_count open_issues_count size', 'integer'),
  topics: 'strings',
  ...fields('private fork is_template archived disabled', 'boolean'),
  ...fields('has_issues has_projects has_wiki has_pages has_downloads', 'boolean'),
  ...fields('pushed_at created_at updated_at', 'Z'),
  permissions: fields('admin push pull', 'boolean'),
  template_repository: null,
  ...fields(
    'url html_url archive_url assignees_url blobs_url branches_url collaborators_url comments_url commits_url ' +
      'compare_url contents_url contributors_url deployments_url downloads_url events_url forks_url git_commits_url ' +
      'git_refs_url git_tags_url git_url issue_comment_url issue_events_url issues_url keys_url labels_url ' +
      'languages_url merges_url milestones_url notifications_url pulls_url releases_url stargazers_url statuses_url ' +
      'subscribers_url subscription_url tags_url teams_url trees_url clone_url mirror_url hooks_url svn_url',
    'address',
  ),
  ssh_url: 'string',
}

const EXTENDED: FieldTable = {
  ...REPOSITORY,
  ...fields(
    'allow_rebase_merge allow_squash_merge allow_merge_commit delete_branch_on_merge',
    'boolean',
  ),
  temp_clone_token: 'string',
  ...fields('subscribers_count network_count forks open_issues watchers', 'integer'),
  license: LICENSE,
}

const MIGRATION: FieldTable = {
  id: 'integer',
  node_id: 'string',
  owner: USER,
  guid: 'uuid',
  state: 'string',
  ...fields(
    'lock_repositories exclude_metadata exclude_git_data exclude_attachments exclude_releases exclude_owner_projects ' +
      'org_metadata_only',
    'boolean',
  ),
  url: 'address',
  created_at: 'offset',
  updated_at: 'offset',
}

const IS: Record<Kind, (value: unknown) => boolean> = {
  integer: Number.isInteger,
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  address: (value) => typeof value === 'string' && URL.canParse(value.replaceAll(/[{}]/g, '')),
  strings: (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
  Z: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value as string),
  offset: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/.test(value as string),
  uuid: (value) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value as string),
}

function fields(names: string, kind: Kind): FieldTable {
  return Object.fromEntries(names.split(' ').map((name) => [name, kind]))
}

/** Asserts that the JSON has exactly these fields, with values of these types. */
function assertFields(table: FieldTable, json: object, at = ''): void {
  assert.deepEqual(
    Object.keys(json).sort(),
    Object.keys(table).sort(),
    `the fields of ${at || 'the object'}`,
  )
  for (const [field, kind] of Object.entries(table)) {
    const value = (json as Record<string, unknown>)[field]
    const where = `${at}${field}: ${JSON.stringify(value)}`
    if (kind === null) assert.equal(value, null, where)
    else if (typeof kind === 'object') assertFields(kind, value as object, `${at}${field}.`)
    else {
      const [plain, orNull] = kind.split(' or ') as [Kind, string?]
      assert.ok((orNull && value === null) || IS[plain](value), `${where} is not of type ${kind}`)
    }
  }
}

const migration = startedMigration()

describe("the fields of GitHub's API", () => {
  test('user', () => assertFields(USER, userJson(alice, addresses)))

  test('repository of the list: plain', () =>
    assertFields(REPOSITORY, plainRepositoryJson(repositoryMetadata(), addresses)))

  test('repository of the list with a template: only the template is extended', () => {
    const metadata = repositoryMetadata({ template: repositoryMetadata({ id: 8, name: 'mould' }) })
    assertFields(
      { ...REPOSITORY, template_repository: EXTENDED },
      plainRepositoryJson(metadata, addresses),
    )
  })

  test('repository of a migration: extended', () =>
    assertFields(EXTENDED, extendedRepositoryJson(repositoryMetadata(), addresses)))

  test('repository of a migration with a template: both extended', () => {
    const metadata = repositoryMetadata({ template: repositoryMetadata({ id: 8, name: 'mould' }) })
    assertFields(
      { ...EXTENDED, template_repository: EXTENDED },
      extendedRepositoryJson(metadata, addresses),
    )
  })

  test('migration', () => {
    const { repositories, ...json } = migrationJson(migration, [repositoryMetadata()], rendering)
    assertFields(MIGRATION, json)
    for (const repository of repositories) assertFields(EXTENDED, repository)
  })

  test('migration with an archive: archive_url as well', () => {
    const exported = { ...migration, archiveExpiresAt: Date.UTC(2026, 10, 21) }
    const json = migrationJson(exported, [], rendering)
    assertFields({ ...MIGRATION, archive_url: 'address', repositories: 'strings' }, json)
  })

  test('only unknown values are null', () => {
    const metadata = repositoryMetadata({ homepage: null, language: null, license: null })
    const json: Record<string, unknown> = extendedRepositoryJson(metadata, addresses)
    const nulls = Object.keys(json).filter((field) => json[field] === null)
    assert.deepEqual(nulls.sort(), ['homepage', 'language', 'license', 'template_repository'])
  })
})

describe("the values of GitHub's API", () => {
  test('URI templates are not expanded, and URLs have the host', () => {
    const json = plainRepositoryJson(repositoryMetadata(), addresses)
    assert.equal(
      json.notifications_url,
      'https://git.example.com/api/repos/alice/widgets/notifications{?since,all,participating}',
    )
    assert.equal(json.html_url, 'https://git.example.com/alice/widgets')
    assert.equal(json.clone_url, 'https://git.example.com/alice/widgets.git')
    assert.equal(json.ssh_url, 'git@git.example.com:alice/widgets.git')
    assert.equal(json.git_url, json.clone_url)
    assert.equal(json.owner.html_url, 'https://git.example.com/alice')
  })

  test('a user has a page if the host is a gitweb', () => {
    const gitweb = addressesFrom({
      baseUrl: 'http://127.0.0.1:3000',
      webUrl: 'https://git.example.com/?p={owner}/{name}.git',
      cloneUrl: 'https://git.example.com/{owner}/{name}.git',
      sshUrl: 'git@git.example.com:{owner}/{name}.git',
    })
    assert.equal(userJson(alice, gitweb).html_url, 'https://git.example.com/?p=alice')
  })

  test('times of a migration have the offset of the time zone on that day', () => {
    const json = migrationJson(migration, [], rendering)
    assert.equal(json.created_at, '2026-11-14T09:30:00+01:00')
    assert.equal(json.updated_at, '2026-07-14T10:30:00+02:00')
    assert.equal(offsetTimestamps('UTC')(migration.createdAt), '2026-11-14T08:30:00+00:00')
    assert.equal(
      offsetTimestamps('America/St_Johns')(migration.createdAt),
      '2026-11-14T05:00:00-03:30',
    )
  })

  test('the URL of a migration has the present login of an organization', () => {
    const organization = { ...alice, login: 'acme', type: 'Organization' as const }
    const { url, owner } = migrationJson(migration, [], rendering, organization)
    assert.match(url, /\/orgs\/acme\/migrations\/\d+$/)
    assert.equal(owner.login, 'alice')
  })

  test('a licence has the name that GitHub uses', () => {
    const { license } = extendedRepositoryJson(
      repositoryMetadata({ license: 'GPL-3.0' }),
      addresses,
    )
    assert.deepEqual(license, {
      key: 'gpl-3.0',
      name: 'GNU General Public License v3.0',
      url: 'https://git.example.com/api/licenses/gpl-3.0',
      spdx_id: 'GPL-3.0',
      node_id: 'MDc6TGljZW5zZWdwbC0zLjA=',
      html_url: 'https://spdx.org/licenses/GPL-3.0.html',
    })
  })
})
