import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { rowsOf } from '../support/export-leftovers.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import type { Description } from '../support/openapi-validator.ts'
import { openApiValidator } from '../support/openapi-validator.ts'
import { OWN, WEEKLY } from '../support/schedule-story.ts'
import { type SharedService, untilEnded, withoutCloneTokens } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'

const UNKNOWN_ID = 987_654
const UNKNOWN_GUID = '00000000-0000-4000-8000-000000000000'

/** Headers that differ between any two responses. */
const VARYING_HEADERS = /^(date|x-.*-request-id|x-ratelimit-(remaining|used|reset)|keep-alive)$/

interface PlainResponse {
  status: number
  headers: Record<string, string>
  body: string
}

describe('resources of other accounts do not exist for a caller', () => {
  let host: GitHost
  let service: SharedService
  let tokens: Record<'alice' | 'bob' | 'carol' | 'operator', string>
  let migration: { id: number; guid: string }
  let hookId: number
  let scheduleId: number

  const t = cleanupAfterFile()
  before(async () => {
    host = await gitHost()
    t.after(host.remove)
    await host.repository('alice/site', { files: { a: '1' } })
    await host.repository('alice/open', {
      files: { a: '1' },
      public: true,
      config: { 'godwit.collaborator': ['bob:write', 'carol:read'] },
    })
    await host.repository('bob/diary', { files: { a: '1' } })
    await host.repository('carol/zine', { files: { a: '1' } })
    await host.repository('operator/tools', { files: { a: '1' } })
    const flags = ['--webhook-networks', '127.0.0.1']
    service = await startSharedService(t, { repositories: host.root, flags })
    await service.godwit('account', 'edit', 'operator', '--site-admin')
    tokens = {
      alice: await service.token('alice'),
      bob: await service.token('bob'),
      carol: await service.token('carol'),
      operator: await service.token('operator'),
    }
    migration = await start('alice', ['site'], { lock_repositories: true })
    await untilEnded(service, tokens.alice, migration.id)
    // Nothing listens there.
    hookId = await create('/user/hooks', { config: { url: 'http://127.0.0.1:9/' } })
    scheduleId = await create(OWN, { ...WEEKLY, repositories: ['site'], paused: true })
  })

  /** Creates something of alice, and returns its id. */
  async function create(path: string, body: object): Promise<number> {
    const init = { method: 'POST', body: JSON.stringify(body) }
    const response = await service.call(tokens.alice, path, init)
    assert.equal(response.status, 201)
    return ((await response.json()) as { id: number }).id
  }

  async function start(login: keyof typeof tokens, repositories: string[], more = {}) {
    const body = JSON.stringify({ repositories, ...more })
    const response = await service.call(tokens[login], '/user/migrations', { method: 'POST', body })
    assert.equal(response.status, 201)
    return (await response.json()) as { id: number; guid: string }
  }

  async function request(
    login: keyof typeof tokens,
    path: string,
    init?: RequestInit,
  ): Promise<PlainResponse> {
    const response = await service.call(tokens[login], path, init)
    const headers = [...response.headers].filter(([name]) => !VARYING_HEADERS.test(name))
    return {
      status: response.status,
      headers: Object.fromEntries(headers),
      body: withoutCloneTokens(await response.text()),
    }
  }

  /** Operators act on migrations of others only under the operator's paths. */
  const OTHERS = ['bob', 'carol'] as const

  test('every operation on another account’s migration, schedule or webhook responds as for a missing one', async () => {
    const description = (await (await fetch(`${service.url}/openapi.json`)).json()) as Description
    const { operations } = openApiValidator(description)
    const ids = /\{(migration_id|guid|hook_id|schedule_id)\}/
    const operationsOnOne = operations.filter(({ path }) => ids.test(path))
    assert.ok(operationsOnOne.length >= 20, `${operationsOnOne.length} operations`)
    const rows = () =>
      [
        'select * from migrations',
        'select * from repository_locks',
        'select * from schedules',
        // Its ping may still be delivered.
        'select id, url from webhooks',
      ].map((query) => rowsOf(service, query))
    const before = rows()
    assert.equal(before[1]?.length, 1)
    let combinations = 0
    for (const { method, path } of operationsOnOne)
      for (const login of path.startsWith('/admin/') ? OTHERS : [...OTHERS, 'operator' as const])
        for (const headers of [{}, { 'if-none-match': '*' }, { accept: 'text/event-stream' }]) {
          // In turn, because the handlers are the same: each operation gets each account and each header with and without it.
          const prefix = combinations++ % 2 === 0 ? '' : '/api/v3'
          const at = (values: Record<string, string | number>) =>
            prefix + path.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? 1))
          const body = ['POST', 'PUT', 'PATCH'].includes(method) && { body: '{}' }
          const init = { method, headers, ...body }
          const [own, unknown] = [
            {
              migration_id: migration.id,
              guid: migration.guid,
              hook_id: hookId,
              schedule_id: scheduleId,
            },
            {
              migration_id: UNKNOWN_ID,
              guid: UNKNOWN_GUID,
              hook_id: UNKNOWN_ID,
              schedule_id: UNKNOWN_ID,
            },
          ]
          const real = await request(login, at({ ...own, repo_name: 'site' }), init)
          const none = await request(login, at({ ...unknown, repo_name: 'site' }), init)
          assert.deepEqual(real, none, `${login}: ${method} ${prefix}${path}`)
          assert.ok(real.status >= 400, `${login}: ${method} ${prefix}${path}: ${real.status}`)
        }
    assert.deepEqual(rows(), before)
    for (const path of [
      `/user/migrations/${migration.id}`,
      `/user/hooks/${hookId}`,
      `${OWN}/${scheduleId}`,
    ])
      assert.equal((await request('alice', path)).status, 200)
  })

  test('another account’s repository cannot be distinguished from a missing one', async () => {
    const named = (name: string, more = {}) => ({
      method: 'POST',
      body: JSON.stringify({ repositories: [name], ...more }),
    })
    for (const path of ['/user/migrations', '/user/migrations/preflight'])
      for (const login of ['bob', 'carol'] as const)
        for (const more of [{}, { lock_repositories: true }, { exclude_git_data: true }])
          for (const existing of ['alice/site', 'Alice/SITE', 'alice/open']) {
            const real = await request(login, path, named(existing, more))
            assert.deepEqual(real, await request(login, path, named('alice/none', more)))
            assert.deepEqual(real, await request(login, path, named('nobody/none', more)))
          }
    const own = await start('bob', ['diary'], { lock_repositories: true })
    await untilEnded(service, tokens.bob, own.id)
    const unlock = (name: string) =>
      request('bob', `/user/migrations/${own.id}/repos/${name}/lock`, { method: 'DELETE' })
    for (const name of ['site', 'alice%2Fsite', 'open'])
      assert.deepEqual(await unlock(name), await unlock('none'), name)
  })

  test('what a caller sees does not change with the actions of others', async () => {
    const readResponses = async () => {
      const responses: Record<string, PlainResponse> = {}
      for (const path of ['/user', '/user/repos', '/user/repos?per_page=1', '/user/migrations'])
        responses[path] = await request('carol', path)
      return responses
    }
    const first = await readResponses()
    assert.ok(Object.values(first).every(({ status }) => status === 200))
    await host.repository('bob/more', {
      files: { b: '2' },
      config: { 'godwit.forkOf': 'carol/zine', 'godwit.templateRepository': 'carol/zine' },
    })
    await service.godwit('sync')
    const other = await start('bob', ['more'])
    await untilEnded(service, tokens.bob, other.id)
    assert.deepEqual(await readResponses(), first)
    assert.ok(!JSON.stringify(first).includes('alice'))
  })

  test('a private fork counts only for those who may read it, and a public one for all', async () => {
    const forks = async (login: 'bob' | 'carol', name: string) => {
      const { body } = await request(login, '/user/repos')
      const all = JSON.parse(body) as { full_name: string; forks_count: number }[]
      return all.find(({ full_name }) => full_name === name)?.forks_count
    }
    await host.repository('carol/fork', {
      files: { b: '2' },
      config: { 'godwit.forkOf': 'bob/diary', 'godwit.collaborator': 'dave:read' },
    })
    await service.godwit('sync')
    assert.equal(await forks('bob', 'bob/diary'), 0)
    await host.repository('alice/fork', {
      files: { b: '2' },
      public: true,
      config: { 'godwit.forkOf': 'bob/diary' },
    })
    await host.repository('bob/fork', {
      files: { b: '2' },
      config: { 'godwit.forkOf': 'bob/diary' },
    })
    await service.godwit('sync')
    assert.equal(await forks('bob', 'bob/diary'), 2)
  })

  test('a signed link gives access to its archive only, unchanged and in time', async () => {
    const other = await start('bob', ['diary'])
    await untilEnded(service, tokens.bob, other.id)
    const linkOf = async (login: 'alice' | 'bob', id: number) =>
      new URL((await request(login, `/user/migrations/${id}/archive`)).headers.location!)
    const link = await linkOf('alice', migration.id)
    const status = async (change: (url: URL) => void) => {
      const url = new URL(link)
      change(url)
      const { status } = await fetch(url)
      return status
    }
    const set = (name: string, change: (now: string) => string) => (url: URL) =>
      url.searchParams.set(name, change(url.searchParams.get(name)!))
    assert.equal(await status(() => {}), 200)
    const tampered: [what: string, change: (url: URL) => void][] = [
      [
        'for another archive',
        (url) => (url.pathname = url.pathname.replace(migration.guid, other.guid)),
      ],
      [
        'for no archive',
        (url) => (url.pathname = url.pathname.replace(migration.guid, UNKNOWN_GUID)),
      ],
      ['for longer', set('expires', (now) => String(Number(now) + 1))],
      ['for ever', set('expires', () => '9'.repeat(20))],
      ['spelt otherwise', set('expires', (now) => ` ${now}`)],
      ['in capitals', set('sig', (now) => now.toUpperCase())],
      ['by one digit', set('sig', (now) => (now[0] === '0' ? '1' : '0') + now.slice(1))],
      ['cut', set('sig', (now) => now.slice(0, -1))],
      ['empty', set('sig', () => '')],
      ['not signed', (url) => url.searchParams.delete('sig')],
      ['without an end', (url) => url.searchParams.delete('expires')],
      ['signed twice', (url) => url.searchParams.append('sig', 'x')],
      ['with another’s signature', () => {}],
    ]
    const bobs = (await linkOf('bob', other.id)).searchParams
    tampered.at(-1)![1] = (url) => {
      for (const name of ['expires', 'sig']) url.searchParams.set(name, bobs.get(name)!)
    }
    for (const [what, change] of tampered) assert.equal(await status(change), 403, what)
    const token = { headers: { authorization: `bearer ${tokens.alice}` } }
    const unsigned = await fetch(`${link.origin}${link.pathname}`, token)
    assert.equal(unsigned.status, 403)
  })

  test('an archive with a repository that its owner may no longer read has no link', async () => {
    const shared = await host.repository('alice/shared', {
      files: { a: '1' },
      config: { 'godwit.collaborator': 'bob:admin' },
    })
    await service.godwit('sync', '--repositories', host.root)
    const { id } = await start('bob', ['alice/shared', 'diary'])
    await untilEnded(service, tokens.bob, id)
    const paths = [`/user/migrations/${id}/archive`, `/user/migrations/${id}/archive/link`]
    assert.deepEqual(
      await Promise.all(paths.map(async (path) => (await request('bob', path)).status)),
      [302, 200],
    )
    await host.git(['config', '--unset-all', 'godwit.collaborator'], { dir: shared })
    await service.godwit('sync', '--repositories', host.root)
    for (const path of paths) {
      const { status, body } = await request('bob', path)
      assert.equal(status, 403)
      const message =
        'You may no longer read these repositories in the archive: alice/shared. Start a migration without them.'
      assert.equal((JSON.parse(body) as { message: string }).message, message)
    }
  })
})
