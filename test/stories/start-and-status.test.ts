import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { before, describe, test } from 'node:test'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { FIRST_COMMIT, type GitHost, gitHost } from '../support/git-host.ts'
import type { SharedService } from '../support/service.ts'
import { withoutCloneTokens } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'

type Json = Record<string, unknown>

const MIT = `MIT License

Copyright (c) 2020 Ada

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`

/** Ten repositories of two owners: one a template, one broken, one empty. */
async function makeRepositories(host: GitHost): Promise<void> {
  const admin = { 'godwit.collaborator': 'alice:admin' }
  await host.repository('alice/site', {
    files: { 'index.ts': 'export const a = 1\n', LICENSE: MIT },
    description: 'Gärten\nfür alle\n',
    public: true,
    config: {
      'gitweb.url': 'https://site.example.com',
      'godwit.topic': ['birds', 'api'],
      'godwit.templateRepository': 'Octo/Mould',
      'godwit.deleteBranchOnMerge': 'true',
    },
  })
  await host.repository('alice/empty', { branch: 'trunk' })
  await host.repository('alice/notes', { files: { 'a.py': 'print(1)\n' }, branch: 'notes' })
  await host.repository('alice/forked', {
    files: { 'a.go': 'package a\n' },
    config: { 'godwit.forkOf': 'octo/tools' },
  })
  await host.repository('alice/broken', { files: { a: '1' } })
  await host.loseObjects('alice/broken')
  for (const name of ['tools', 'garden', 'lab', 'secret']) {
    await host.repository(`octo/${name}`, { files: { 'a.c': 'int a;\n' }, config: admin })
  }
  await host.repository('octo/mould', {
    files: { 'a.rs': 'fn main() {}\n', LICENSE: MIT },
    public: true,
    config: { ...admin, 'godwit.isTemplate': 'true' },
  })
}

const NINE_NAMES = [
  'alice/site',
  'alice/empty',
  'notes',
  'alice/forked',
  'octo/tools',
  'octo/garden',
  'OCTO/LAB',
  'octo/secret',
  'octo/mould',
]

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`start and status on ${engine}`, () => {
    const t = cleanupAfterFile()
    let host: GitHost
    let service: SharedService
    let alice: string

    before(async () => {
      host = await gitHost()
      t.after(host.remove)
      await makeRepositories(host)
      service = await startSharedService(t, {
        repositories: host.root,
        engine,
        flags: ['--time-zone', 'Asia/Kolkata'],
      })
      alice = await service.token('alice')
    })

    test('respond completely, and later changes do not change a response', async () => {
      const started = await service.call(alice, '/user/migrations', {
        method: 'POST',
        body: JSON.stringify({
          repositories: NINE_NAMES,
          exclude_attachments: true,
          exclude_git_data: true,
        }),
      })
      assert.equal(started.status, 201)
      assert.equal(started.headers.get('location'), `${service.url}/user/migrations/1`)
      const created = JSON.parse(withoutCloneTokens(await started.text())) as Json
      assert.equal(created.state, 'pending')

      const status = await readJson(service, alice, '/user/migrations/1')
      const list = await readJson(service, alice, '/user/migrations/1/repositories')
      assert.deepEqual(
        { ...status, state: 'pending', updated_at: created.updated_at, archive_url: undefined },
        { ...created, archive_url: undefined },
      )

      const expected = expectedRepositories(service, status.repositories as Json[])
      assert.deepEqual(
        status.repositories,
        expected.map(({ plain, extended }) => ({ ...plain, ...extended })),
      )
      assert.deepEqual(
        list,
        expected.map(({ plain }) => plain),
      )
      const { repositories, node_id, guid, created_at, updated_at, state, ...rest } = status
      assert.deepEqual(rest, {
        id: 1,
        owner: user(service, 'alice', (status.owner as Json).id),
        lock_repositories: false,
        exclude_metadata: false,
        exclude_git_data: true,
        exclude_attachments: true,
        exclude_releases: false,
        exclude_owner_projects: false,
        org_metadata_only: false,
        url: `${service.url}/user/migrations/1`,
        ...(state === 'exported' && { archive_url: `${service.url}/user/migrations/1/archive` }),
      })
      assert.equal(node_id, Buffer.from('09:Migration1').toString('base64'))
      assert.match(guid as string, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
      for (const time of [created_at, updated_at]) {
        assert.match(time as string, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+05:30$/)
        assert.ok(Math.abs(Date.parse(time as string) - Date.now()) < 600_000)
      }

      await host.commit(host.path('alice/site'), { 'b.rb': 'puts 1\n'.repeat(99) })
      await rm(host.path('alice/notes'), { recursive: true })
      // One of them is damaged from the start.
      await assert.rejects(service.godwit('sync'), /1 of 9 repositories cannot be read/)
      const later = await readJson(service, alice, '/user/migrations/1')
      assert.deepEqual(later.repositories, status.repositories)
      assert.deepEqual(await readJson(service, alice, '/user/migrations/1/repositories'), list)
    })

    test('leave out the repositories on request, in every spelling', async () => {
      const started = await service.call(alice, '/user/migrations', {
        method: 'POST',
        body: JSON.stringify({ repositories: ['site'] }),
      })
      const { id } = (await started.json()) as Json
      for (const query of [
        'exclude=repositories',
        'exclude=other,repositories',
        'exclude=other&exclude=repositories',
        'exclude[]=repositories',
        'exclude%5B%5D=repositories&exclude%5B%5D=x',
      ]) {
        const { repositories } = await readJson(service, alice, `/user/migrations/${id}?${query}`)
        assert.deepEqual(repositories, [], query)
      }
      const unknown = `/user/migrations/${id}?exclude=unknown`
      const { repositories } = await readJson(service, alice, unknown)
      assert.equal((repositories as Json[]).length, 1)
    })
  })
}

async function readJson(service: SharedService, token: string, path: string): Promise<Json> {
  const response = await service.call(token, path)
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.equal(response.headers.get('x-github-media-type'), 'github.wyandotte-preview; format=json')
  return JSON.parse(withoutCloneTokens(await response.text())) as Json
}

/** Sizes, ids and modification times depend on the machine; they are checked separately and then copied. */
function expectedRepositories(service: SharedService, actual: Json[]) {
  const ids = actual.map(({ id }) => id)
  assert.equal(new Set(ids).size, NINE_NAMES.length)
  const idOf = (full_name: string) =>
    actual.find((json) => json.full_name === full_name)!.id as number
  const mould = repository(service, actual.at(-1)!, {
    full_name: 'octo/mould',
    private: false,
    is_template: true,
    language: 'Rust',
    license: license(service),
  })
  const template_repository = { ...mould.plain, ...mould.extended }
  assert.equal(template_repository.id, idOf('octo/mould'))
  return [
    repository(service, actual[0]!, {
      full_name: 'alice/site',
      private: false,
      description: 'Gärten für alle',
      homepage: 'https://site.example.com',
      language: 'TypeScript',
      topics: ['birds', 'api'],
      license: license(service),
      delete_branch_on_merge: true,
      template_repository,
    }),
    repository(service, actual[1]!, {
      full_name: 'alice/empty',
      default_branch: 'trunk',
      isEmpty: true,
    }),
    repository(service, actual[2]!, {
      full_name: 'alice/notes',
      default_branch: 'notes',
      language: 'Python',
    }),
    repository(service, actual[3]!, { full_name: 'alice/forked', fork: true, language: 'Go' }),
    repository(service, actual[4]!, { full_name: 'octo/tools', forks: 1, language: 'C' }),
    repository(service, actual[5]!, { full_name: 'octo/garden', language: 'C' }),
    repository(service, actual[6]!, { full_name: 'octo/lab', language: 'C' }),
    repository(service, actual[7]!, { full_name: 'octo/secret', language: 'C' }),
    mould,
  ]
}

interface Expected {
  full_name: string
  private?: boolean
  description?: string
  homepage?: string
  language?: string
  topics?: string[]
  license?: Json
  is_template?: boolean
  fork?: boolean
  forks?: number
  default_branch?: string
  delete_branch_on_merge?: boolean
  template_repository?: Json
  isEmpty?: boolean
}

function repository(service: SharedService, actual: Json, expected: Expected) {
  const [owner = '', name = ''] = expected.full_name.split('/')
  const isPrivate = expected.private ?? true
  const firstCommit = FIRST_COMMIT.toISOString().replace('.000', '')
  assert.ok(Number.isInteger(actual.size))
  for (const field of ['created_at', 'pushed_at', 'updated_at']) {
    assert.match(actual[field] as string, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  }
  const plain: Json = {
    id: actual.id,
    node_id: Buffer.from(`010:Repository${actual.id}`).toString('base64'),
    name,
    full_name: expected.full_name,
    owner: user(service, owner, (actual.owner as Json).id),
    private: isPrivate,
    description: expected.description ?? '',
    fork: expected.fork ?? false,
    homepage: expected.homepage ?? null,
    language: expected.language ?? null,
    forks_count: expected.forks ?? 0,
    stargazers_count: 0,
    watchers_count: 0,
    size: actual.size,
    default_branch: expected.default_branch ?? 'main',
    open_issues_count: 0,
    is_template: expected.is_template ?? false,
    topics: expected.topics ?? [],
    has_issues: false,
    has_projects: false,
    has_wiki: false,
    has_pages: false,
    has_downloads: false,
    archived: false,
    disabled: false,
    visibility: isPrivate ? 'private' : 'public',
    pushed_at: expected.isEmpty ? actual.created_at : firstCommit,
    created_at: expected.isEmpty ? actual.created_at : firstCommit,
    updated_at: actual.updated_at,
    permissions: { admin: true, push: true, pull: true },
    template_repository: expected.template_repository ?? null,
    ...addresses(service, owner, name),
  }
  const extended: Json = {
    allow_rebase_merge: true,
    allow_squash_merge: true,
    allow_merge_commit: true,
    delete_branch_on_merge: expected.delete_branch_on_merge ?? false,
    temp_clone_token: isPrivate ? 'gwc_' : '',
    subscribers_count: 0,
    network_count: expected.forks ?? 0,
    license: expected.license ?? null,
    forks: expected.forks ?? 0,
    open_issues: 0,
    watchers: 0,
  }
  return { plain, extended }
}

function user({ url }: SharedService, login: string, id: unknown): Json {
  const api = `${url}/users/${login}`
  return {
    login,
    id,
    node_id: Buffer.from(`04:User${id}`).toString('base64'),
    avatar_url: `${url}/avatars/u/${id}?v=4`,
    gravatar_id: '',
    url: api,
    html_url: `${url}/${login}`,
    followers_url: `${api}/followers`,
    following_url: `${api}/following{/other_user}`,
    gists_url: `${api}/gists{/gist_id}`,
    starred_url: `${api}/starred{/owner}{/repo}`,
    subscriptions_url: `${api}/subscriptions`,
    organizations_url: `${api}/orgs`,
    repos_url: `${api}/repos`,
    events_url: `${api}/events{/privacy}`,
    received_events_url: `${api}/received_events`,
    type: 'User',
    site_admin: false,
  }
}

function license({ url }: SharedService): Json {
  return {
    key: 'mit',
    name: 'MIT License',
    url: `${url}/licenses/mit`,
    spdx_id: 'MIT',
    node_id: Buffer.from('07:Licensemit').toString('base64'),
    html_url: 'https://spdx.org/licenses/MIT.html',
  }
}

function addresses({ url }: SharedService, owner: string, name: string): Json {
  const api = `${url}/repos/${owner}/${name}`
  const host = new URL(url)
  const paths = {
    url: '',
    archive_url: '/{archive_format}{/ref}',
    assignees_url: '/assignees{/user}',
    blobs_url: '/git/blobs{/sha}',
    branches_url: '/branches{/branch}',
    collaborators_url: '/collaborators{/collaborator}',
    comments_url: '/comments{/number}',
    commits_url: '/commits{/sha}',
    compare_url: '/compare/{base}...{head}',
    contents_url: '/contents/{+path}',
    contributors_url: '/contributors',
    deployments_url: '/deployments',
    downloads_url: '/downloads',
    events_url: '/events',
    forks_url: '/forks',
    git_commits_url: '/git/commits{/sha}',
    git_refs_url: '/git/refs{/sha}',
    git_tags_url: '/git/tags{/sha}',
    issue_comment_url: '/issues/comments{/number}',
    issue_events_url: '/issues/events{/number}',
    issues_url: '/issues{/number}',
    keys_url: '/keys{/key_id}',
    labels_url: '/labels{/name}',
    languages_url: '/languages',
    merges_url: '/merges',
    milestones_url: '/milestones{/number}',
    notifications_url: '/notifications{?since,all,participating}',
    pulls_url: '/pulls{/number}',
    releases_url: '/releases{/id}',
    stargazers_url: '/stargazers',
    statuses_url: '/statuses/{sha}',
    subscribers_url: '/subscribers',
    subscription_url: '/subscription',
    tags_url: '/tags',
    teams_url: '/teams',
    trees_url: '/git/trees{/sha}',
    hooks_url: '/hooks',
  }
  return {
    ...Object.fromEntries(Object.entries(paths).map(([field, end]) => [field, `${api}${end}`])),
    html_url: `${url}/${owner}/${name}`,
    svn_url: `${url}/${owner}/${name}`,
    clone_url: `${url}/${owner}/${name}.git`,
    ssh_url: `git@${host.hostname}:${owner}/${name}.git`,
    git_url: `${url}/${owner}/${name}.git`,
    mirror_url: `${url}/${owner}/${name}.git`,
  }
}
