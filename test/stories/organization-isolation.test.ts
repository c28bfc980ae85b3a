import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { onEachEngine } from '../support/databases.ts'
import { gitHost } from '../support/git-host.ts'
import { type Description, openApiValidator } from '../support/openapi-validator.ts'
import { untilEnded, withoutCloneTokens } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

const PEOPLE = ['owner', 'second', 'member', 'admin-of-one', 'stranger', 'operator'] as const
type Login = (typeof PEOPLE)[number]
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Headers that differ between any two responses. */
const VARYING_HEADERS = /^(date|x-.*-request-id|x-ratelimit-(remaining|used|reset)|keep-alive)$/

/**
 * An organization with two owners, a member, an administrator of one of its repositories, a site admin and an
 * unrelated user.
 */
async function scene(t: TestContext, engine: 'sqlite' | 'postgres') {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('octo/tools', {
    files: { a: '1' },
    config: { 'godwit.collaborator': 'admin-of-one:admin' },
  })
  await host.repository('octo/secret', { files: { a: '1' } })
  for (const login of ['second', 'admin-of-one', 'stranger']) await host.repository(`${login}/own`)
  await writeFile(join(host.root, 'octo/godwit-members'), 'owner owner\nmember member\n')
  const service = await startSharedService(t, { repositories: host.root, engine })
  const tokens = {} as Record<Login, string>
  await service.godwit('account', 'add', 'operator', '--site-admin')
  for (const login of PEOPLE) tokens[login] = await service.token(login)
  await service.godwit('member', 'add', 'octo', 'second', '--role', 'owner')
  const call = (login: Login, path: string, init?: RequestInit) =>
    service.call(tokens[login], path, init)

  async function request(login: Login, path: string, init?: RequestInit) {
    const response = await call(login, path, init)
    const headers = [...response.headers].filter(([name]) => !VARYING_HEADERS.test(name))
    return {
      status: response.status,
      headers: Object.fromEntries(headers),
      body: withoutCloneTokens(await response.text()),
    }
  }
  const started = await call('owner', '/orgs/octo/migrations', {
    method: 'POST',
    body: JSON.stringify({ repositories: ['tools', 'secret'], lock_repositories: true }),
  })
  assert.equal(started.status, 201)
  const { id } = (await started.json()) as { id: number }
  await untilEnded(service, tokens.owner, `/orgs/octo/migrations/${id}`, 'exported')
  const response = await call('owner', '/orgs/octo')
  const { id: number } = (await response.json()) as { id: number }
  return { service, call, ask: request, migration: id, number }
}

onEachEngine('an organization’s migrations', (engine) => {
  test('exist for every owner and every site admin, and for nobody else', async (t) => {
    const story = await scene(t, engine)
    const { service, call, ask, migration, number } = story
    const description = (await (await fetch(`${service.url}/openapi.json`)).json()) as Description
    const { operations } = openApiValidator(description)
    const paths = new Set(
      operations.map(({ path }) => path).filter((path) => /^\/org.*\/migrations/.test(path)),
    )
    assert.ok(paths.size >= 18, `${paths.size} paths`)
    const shown = async () => (await ask('owner', '/orgs/octo/migrations')).body
    const before = [await shown(), await (await call('owner', locksOf(migration))).text()]
    const audited = () => service.log().split('"audit"').length
    await until('the start is in the log', () => audited() > 1)
    const auditedBefore = audited()

    const at = (path: string, org: string, id: number) =>
      path
        .replace('{org}', org)
        .replace('{organization_id}', String(id))
        .replace('{migration_id}', String(migration))
        .replace('{repo_name}', 'tools')
    let combinations = 0
    for (const path of paths)
      for (const method of METHODS)
        for (const login of ['member', 'admin-of-one', 'stranger'] as const) {
          // In turn, because the handlers are the same: each account gets each path with and without it.
          const prefix = combinations++ % 2 === 0 ? '' : '/api/v3'
          const body = JSON.stringify({ repositories: ['tools'], lock_repositories: true })
          const init = { method, ...(['POST', 'PUT', 'PATCH'].includes(method) && { body }) }
          const real = await ask(login, `${prefix}${at(path, 'OCTO', number)}`, init)
          const none = await ask(login, `${prefix}${at(path, 'nobody', 987_654)}`, init)
          assert.deepEqual(real, none, `${login}: ${method} ${prefix}${path}`)
          assert.equal(real.status, 404, `${login}: ${method} ${prefix}${path}`)
        }
    for (const login of ['admin-of-one', 'stranger'] as const)
      for (const path of ['', '/repos', '/members'])
        assert.deepEqual(await ask(login, `/orgs/octo${path}`), await ask(login, `/orgs/no${path}`))
    assert.deepEqual(
      [await shown(), await (await call('owner', locksOf(migration))).text()],
      before,
    )
    assert.equal(audited(), auditedBefore)

    for (const login of ['owner', 'second', 'operator'] as const) {
      for (const path of ['', '/repositories', '/progress', '/report', '/summary', '/locks']) {
        const { status } = await ask(login, `/orgs/octo/migrations/${migration}${path}`)
        assert.equal(status, 200, `${login} ${path}`)
      }
      // They are not among a person's own migrations.
      assert.equal((await ask(login, `/user/migrations/${migration}`)).status, 404)
      assert.equal((await ask(login, '/user/migrations')).body, '[]')
    }
    const { headers, body } = await ask('second', `/orgs/octo/migrations/${migration}/archive`)
    assert.equal(headers.location, body)
    assert.equal((await fetch(body)).status, 200)
    const unlock = `/orgs/octo/migrations/${migration}/repos/tools/lock`
    assert.equal((await ask('second', unlock, { method: 'DELETE' })).status, 204)
    const line = /"audit":"migration.unlock_repository"[^\n]*"login":"second"[^\n]*"owner":"octo"/
    await until('the log has the account, the repository and the owner', () =>
      line.test(service.log()),
    )
    await assertAccessEndsWithOwnership(story)
  })
})

/** A former owner sees nothing; a member sees the repositories that they may read. */
async function assertAccessEndsWithOwnership({ service, ask, migration }: Story): Promise<void> {
  const names = async (login: Login) => {
    const { body } = await ask(login, '/orgs/octo/repos?sort=full_name')
    return (JSON.parse(body) as { name: string }[]).map(({ name }) => name)
  }
  assert.deepEqual(await names('owner'), ['secret', 'tools'])
  assert.deepEqual(await names('operator'), ['secret', 'tools'])
  assert.deepEqual(await names('member'), [])
  // Every JavaScript object has a member of that name.
  assert.equal((await ask('owner', '/orgs/octo/repos?type=constructor')).status, 422)
  const everyone = await ask('owner', '/orgs/octo/members')
  assert.equal((await ask('owner', '/orgs/octo/members?role=constructor')).body, everyone.body)
  const roles = async (login: Login) => {
    const { body } = await ask(login, '/user/memberships/orgs')
    return (JSON.parse(body) as { role: string }[]).map(({ role }) => role)
  }
  assert.deepEqual(await Promise.all(PEOPLE.map(roles)), [
    ['admin'],
    ['admin'],
    ['member'],
    [],
    [],
    [],
  ])

  const status = `/orgs/octo/migrations/${migration}`
  const { headers } = await ask('second', status)
  await service.godwit('member', 'remove', 'octo', 'second')
  for (const more of [{}, { 'if-none-match': headers.etag! }])
    assert.equal((await ask('second', status, { headers: more })).status, 404)
  assert.equal((await ask('second', '/user/orgs')).body, '[]')
}

type Story = Awaited<ReturnType<typeof scene>>

const locksOf = (id: number) => `/orgs/octo/migrations/${id}/locks`
