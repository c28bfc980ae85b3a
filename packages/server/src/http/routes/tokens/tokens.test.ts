import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { HTTPMethods, LightMyRequestResponse } from 'fastify'
import { pino } from 'pino'
import { cloneScene } from '../../../../../../test/support/clone-scene.ts'
import {
  type Engine,
  onEachEngine,
  onSqlite,
  openDatabase,
} from '../../../../../../test/support/databases.ts'
import {
  collectRoutes,
  DEFAULT_MEDIA_TYPE,
  descriptionServer,
} from '../../../../../../test/support/description-server.ts'
import { gitHost } from '../../../../../../test/support/git-host.ts'
import { PREVIEW, withoutCloneTokens } from '../../../../../../test/support/service.ts'
import type { NewToken, Session, Token } from '../../../../../contract/src/schemas/types.ts'
import { gitDirectory } from '../../../../../hosts/src/directory/git-directory.ts'
import { ensureAccount, findAccount, upsertAccount } from '../../../accounts/account-store.ts'
import { createAccountToken } from '../../../accounts/account-tokens.ts'
import { createAuthenticator } from '../../../accounts/authenticator.ts'
import { openSessionWithoutToken } from '../../../accounts/session-store.ts'
import { addToken } from '../../../accounts/token-store.ts'
import { embeddedQueue } from '../../../queue/embedded.ts'
import { syncAllRepositories } from '../../../repositories/sync.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const PAGE_HEADER = { 'x-godwit-session': '1' }
const NOT_ACCESSIBLE = 'Resource not accessible by personal access token'
const READ_ONLY = `${NOT_ACCESSIBLE}: it is read-only.`
const ONE_ORGANIZATION = `${NOT_ACCESSIBLE}: it is limited to one organization.`

/**
 * Alice owns the organization octo, is a site admin, and may read bob/hush-shared. Everything that a token for octo must not see has
 * "hush" in its name.
 */
async function scene(t: TestContext, engine: Engine, maxTokens = 20) {
  const { db } = await openDatabase(t, engine)
  const host = await gitHost()
  t.after(host.remove)
  const files = { a: '1' }
  await host.repository('octo/kit', { files, config: { 'godwit.forkOf': 'alice/hush-own' } })
  await host.repository('alice/hush-own', { files })
  await host.repository('bob/open', { files, public: true })
  const config = { 'godwit.collaborator': 'alice:admin' }
  await host.repository('bob/hush-shared', { files, config })
  await host.repository('hush-beta/kit', { files })
  for (const org of ['octo', 'hush-beta'])
    await writeFile(join(host.root, org, 'godwit-members'), 'alice owner\n')
  const source = gitDirectory({ root: host.root, git: host.godwitGit })
  const clock = { ahead: 0 }
  const now = () => Date.now() + clock.ahead
  await syncAllRepositories({ db, source, now })
  const alice = await upsertAccount(db, 'alice', { siteAdmin: true }, now())
  const operatorToken = await addToken(db, alice, { name: 'first', expiresAt: null, now: now() })
  const lines: Record<string, unknown>[] = []
  const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const { app, routes } = collectRoutes(() =>
    descriptionServer(t, DEFAULT_MEDIA_TYPE, {
      ...{ db, now, log, source, maxTokens, queue: embeddedQueue({ db }) },
      ...{ maxUnfinished: 99, maxSchedules: 99, lockTtlMs: 1000 },
      authenticator: createAuthenticator({ db, now }),
      isIndexRead: () => true,
      isWebhookAllowed: () => true,
    }),
  )

  const send = (method: HTTPMethods, url: string, headers: Record<string, string>, body?: object) =>
    app.inject({
      method: method as 'GET',
      url,
      headers: { 'user-agent': 'test', accept: PREVIEW, ...headers },
      ...(body && { payload: JSON.stringify(body) }),
    })
  const bearer = (token: string) => ({ authorization: `bearer ${token}` })

  /** Signs in with a token, and returns the headers of the browser. */
  async function signIn(token = operatorToken) {
    const response = await send('POST', '/session', PAGE_HEADER, { token })
    assert.equal(response.statusCode, 201, response.body)
    const cookie = String(response.headers['set-cookie']).split(';')[0]!
    return { browser: { ...PAGE_HEADER, cookie }, session: response.json() as Session }
  }
  async function create(browser: Record<string, string>, more: object = {}): Promise<NewToken> {
    const body = { name: 'laptop', expires_in_days: 30, ...more }
    const response = await send('POST', '/user/tokens', browser, body)
    assert.equal(response.statusCode, 201, response.body)
    return response.json()
  }
  const audits = () =>
    lines.filter(({ audit, outcome }) => /^token\./.test(String(audit)) && outcome !== 'refused')
  return {
    ...{ db, alice, clock, now, send, bearer, signIn, create, audits, lines, routes },
    operatorToken,
  }
}

const messageOf = (response: LightMyRequestResponse): [number, string] => [
  response.statusCode,
  (response.json() as { message: string }).message,
]

onSqlite('own tokens', (engine) => {
  test('are created in a session, shown once, listed, and revoked one by one or all', async (t) => {
    const { send, bearer, signIn, create, audits, lines, operatorToken } = await scene(t, engine)
    const { browser, session } = await signIn()
    assert.ok(Date.parse(session.tokens_managed_until!) > Date.now())
    const created = await create(browser, { name: ' laptop ', organization: 'OCTO' })
    assert.match(created.token, /^gwt_[0-9A-Za-z]{38}$/)
    assert.deepEqual(
      [created.name, created.read_only, created.organization, created.current],
      ['laptop', false, 'octo', false],
    )
    const other = await create(browser, { name: 'ci', read_only: true })
    const list = async (headers: Record<string, string>): Promise<Token[]> =>
      (await send('GET', '/user/tokens', headers)).json()
    const listed = await list(browser)
    assert.deepEqual(
      listed.map(({ name, current }) => [name, current]),
      [
        ['ci', false],
        ['laptop', false],
        ['first', true],
      ],
    )
    assert.ok(!JSON.stringify(listed).includes('gwt_'))
    assert.deepEqual(
      (await list(bearer(other.token))).map(({ current }) => current),
      [true, false, false],
    )
    assert.equal((await send('GET', '/user', bearer(other.token))).statusCode, 200)
    assert.equal((await send('DELETE', `/user/tokens/${other.id}`, browser)).statusCode, 204)
    assert.equal((await send('DELETE', `/user/tokens/${other.id}`, browser)).statusCode, 404)
    assert.equal((await send('GET', '/user', bearer(other.token))).statusCode, 401)
    assert.equal((await send('DELETE', '/user/tokens', browser)).statusCode, 204)
    // The session ends with the token that opened it.
    for (const headers of [browser, bearer(created.token), bearer(operatorToken)])
      assert.equal((await send('GET', '/user', headers)).statusCode, 401)
    assert.deepEqual(
      audits().map(({ audit, login, created, revoked }) => [audit, login, created ?? revoked]),
      [
        ['token.create', 'alice', created.id],
        ['token.create', 'alice', other.id],
        ['token.revoke', 'alice', other.id],
        ['token.revoke', 'alice', 1],
        ['token.revoke', 'alice', created.id],
      ],
    )
    assert.ok(!JSON.stringify(lines).includes('gwt_'), 'a token was logged')
  })

  test('cannot be created or revoked with a token, in an old session or by another site', async (t) => {
    const { clock, send, bearer, signIn, create, operatorToken } = await scene(t, engine)
    const body = { name: 'x', expires_in_days: 1 }
    const attempts = (headers: Record<string, string>) =>
      Promise.all([
        send('POST', '/user/tokens', headers, body),
        send('DELETE', '/user/tokens/1', headers),
        send('DELETE', '/user/tokens', headers),
      ])
    const { browser } = await signIn()
    for (const headers of [bearer(operatorToken), { ...browser, ...bearer(operatorToken) }])
      for (const refused of await attempts(headers)) {
        const [status, message] = messageOf(refused)
        assert.equal(status, 403)
        assert.match(message, /^A token cannot create or revoke tokens\. Sign in at .*\/#\/tokens$/)
        assert.equal(refused.headers['x-godwit-session'], undefined)
      }
    const { cookie } = browser
    for (const foreign of [{ cookie }, { ...browser, 'sec-fetch-site': 'cross-site' }])
      for (const refused of await attempts(foreign)) assert.equal(refused.statusCode, 401)

    const own = await create(browser)
    const readOnly = await create(browser, { read_only: true })
    const bound = await create(browser, { organization: 'octo' })
    clock.ahead = 15 * MINUTE + 1000
    const old = await attempts(browser)
    const byOwn = await signIn(own.token)
    assert.equal(byOwn.session.tokens_managed_until, null)
    for (const refused of [...old, ...(await attempts(byOwn.browser))]) {
      assert.equal(refused.statusCode, 403)
      assert.equal(refused.headers['x-godwit-session'], 'sign-in-required')
    }
    for (const { token } of [readOnly, bound]) {
      const limited = await signIn(token)
      assert.equal(limited.session.tokens_managed_until, null)
      for (const refused of await attempts(limited.browser)) assert.equal(refused.statusCode, 403)
      const signOutAll = await send('DELETE', '/session?all=true', limited.browser)
      assert.equal(signOutAll.statusCode, 403)
      const expected = token === bound.token ? ONE_ORGANIZATION : READ_ONLY
      assert.equal(signOutAll.json().message, expected)
    }
    assert.equal((await send('GET', '/user/tokens', browser)).json().length, 4)
    await create((await signIn()).browser)
  })

  test('can be created after a sign-in without a token, and outlive that session', async (t) => {
    const { db, alice, now, send, bearer, create, operatorToken } = await scene(t, engine)
    const { secret } = await openSessionWithoutToken(db, alice, { now: now(), ttlMs: DAY })
    const browser = { ...PAGE_HEADER, cookie: `__Host-godwit_session=${secret}` }
    const { token } = await create(browser, { expires_in_days: 365 })
    assert.equal((await send('DELETE', '/session', browser)).statusCode, 204)
    assert.equal((await send('GET', '/user', bearer(token))).statusCode, 200)
    assert.equal((await send('GET', '/user', browser)).statusCode, 401)
    // Revoking all tokens does not end a session that was opened without one.
    const other = await openSessionWithoutToken(db, alice, { now: now(), ttlMs: DAY })
    const again = { ...PAGE_HEADER, cookie: `__Host-godwit_session=${other.secret}` }
    assert.equal((await send('DELETE', '/user/tokens', again)).statusCode, 204)
    for (const revoked of [token, operatorToken])
      assert.equal((await send('GET', '/user', bearer(revoked))).statusCode, 401)
    assert.deepEqual((await send('GET', '/user/tokens', again)).json(), [])
  })

  test('have a name, an end within a year, an organization of the caller, and a maximum', async (t) => {
    const { db, alice, now, send, bearer, signIn, create } = await scene(t, engine, 4)
    const { browser } = await signIn()
    const refusal = async (body: object, headers: Record<string, string> = browser) => {
      const response = await send('POST', '/user/tokens', headers, body)
      assert.equal(response.statusCode, 422, response.body)
      const [error] = (response.json() as { errors: Record<string, string>[] }).errors
      return [error!.resource, error!.field, error!.code]
    }
    const valid = { name: 'x', expires_in_days: 365 }
    assert.deepEqual(await refusal({ expires_in_days: 3 }), ['Token', 'name', 'missing_field'])
    for (const name of ['', ' ', 'a\nb', 'a\0b', 'x'.repeat(101), 7])
      assert.deepEqual(await refusal({ ...valid, name }), ['Token', 'name', 'invalid'])
    for (const expires_in_days of [0, -1, 366, 1.5, '3', null])
      assert.deepEqual((await refusal({ ...valid, expires_in_days }))[1], 'expires_in_days')
    assert.deepEqual((await refusal({ ...valid, read_only: 'yes' }))[1], 'read_only')
    for (const organization of ['bob', 'nobody', '../octo'])
      assert.deepEqual((await refusal({ ...valid, organization }))[1], 'organization')
    const viewer = { account: alice, tokenId: 1 }
    const settings = { name: 'x', days: 1, isReadOnly: false, organization: null }
    const concurrent = Array.from({ length: 6 }, () =>
      db
        .transaction()
        .execute((tx) => createAccountToken(tx, viewer, settings, { max: 4, now: now() })),
    )
    const created = (await Promise.allSettled(concurrent)).filter(
      ({ status }) => status === 'fulfilled',
    )
    assert.equal(created.length, 3)
    assert.deepEqual(await refusal(valid), ['Token', undefined, 'custom'])

    // A token cannot outlive the token of the operator that its owner signed in with.
    const bob = await findAccount(db, 'bob')
    const week = { name: '', expiresAt: now() + 7 * DAY, now: now() }
    const ofBob = await signIn(await addToken(db, bob!, week))
    assert.deepEqual(
      (await refusal({ ...valid, expires_in_days: 8 }, ofBob.browser))[1],
      'expires_in_days',
    )
    const short = await create(ofBob.browser, { expires_in_days: 6 })
    // Nobody sees or revokes the tokens of others, except site admins.
    assert.equal((await send('DELETE', '/user/tokens/1', ofBob.browser)).statusCode, 404)
    assert.equal((await send('GET', '/user/tokens', ofBob.browser)).json().length, 2)
    assert.equal((await send('GET', '/admin/tokens', bearer(short.token))).statusCode, 404)
    assert.equal((await send('GET', '/admin/tokens', browser)).json().length, 6)
    assert.equal((await send('DELETE', `/admin/tokens/${short.id}`, browser)).statusCode, 204)
    assert.equal((await send('GET', '/user', bearer(short.token))).statusCode, 401)
    assert.equal(alice.siteAdmin, true)
  })

  test('tell a mistyped token from one that is revoked', async (t) => {
    const { db, send, bearer, signIn, create } = await scene(t, engine)
    const { token, id } = await create((await signIn()).browser)
    const last = token.endsWith('a') ? 'b' : 'a'
    for (const wrong of [token.slice(0, -1), `${token.slice(0, -1)}${last}`, 'gwt_'])
      assert.deepEqual(messageOf(await send('GET', '/user', bearer(wrong))), [
        401,
        'Bad credentials: the token is mistyped or incomplete.',
      ])
    await db.updateTable('tokens').set({ revoked_at: 1 }).where('id', '=', id).execute()
    for (const wrong of [token, 'gho_x'])
      assert.deepEqual(messageOf(await send('GET', '/user', bearer(wrong))), [
        401,
        'Bad credentials',
      ])
  })
})

interface Target {
  /** The values of the parameters of paths. */
  params: Record<string, string>
  body: object
}

/** Fills in the path of a route. Parameters without a value get the number 1. */
const fill = (url: string, { params }: Target) =>
  url.replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? '1').replace('*', 'x')

onEachEngine('the limits of tokens', (engine) => {
  test('hold on every route: a read-only token changes nothing', async (t) => {
    const { send, bearer, signIn, create, lines, routes, operatorToken } = await scene(t, engine)
    const { token } = await create((await signIn()).browser, { read_only: true })
    const started = lines.length
    const target = {
      params: { org: 'octo', owner: 'alice', username: 'alice', repo: 'hush-own' },
      body: { repositories: ['kit'], name: 'x', expires_in_days: 1 },
    }
    let refused = 0
    for (const { method, url, schema, config } of routes) {
      // Only the routes of the API take tokens; those of git are tested below.
      const takesToken = schema?.operationId !== undefined && schema.security?.length !== 0
      if (!takesToken || url.startsWith('/api/v3') || method === 'HEAD') continue
      const path = fill(url, target)
      const body = method === 'GET' ? undefined : target.body
      const limited = await send(method as HTTPMethods, path, bearer(token), body)
      if (method === 'GET') {
        const full = await send('GET', path, bearer(operatorToken))
        assert.equal(limited.statusCode, full.statusCode, `GET ${path}`)
      } else if (config?.changesNothing) assert.notEqual(limited.statusCode, 403, path)
      else {
        assert.deepEqual(messageOf(limited), [403, READ_ONLY], `${method} ${path}`)
        refused++
      }
    }
    assert.ok(refused > 40, `${refused} routes`)
    assert.deepEqual(
      lines.slice(started).filter(({ audit }) => audit !== undefined),
      [],
    )
  })

  test('hold on every route: a token of one organization is a stranger elsewhere', async (t) => {
    const { db, send, bearer, signIn, create, routes, operatorToken } = await scene(t, engine)
    const { browser } = await signIn()
    const { token } = await create(browser, { organization: 'octo' })
    const limited = await signIn(token)
    assert.equal(limited.session.organization, 'octo')
    const body = { repositories: ['hush-own'], lock_repositories: true }
    const start = async (path: string, repositories: string[]) => {
      const response = await send('POST', path, bearer(operatorToken), { repositories })
      return String((response.json() as { id: number }).id)
    }
    const own = await start('/user/migrations', ['hush-own', 'bob/hush-shared'])
    const beta = await start('/orgs/hush-beta/migrations', ['kit'])
    const octo = await start('/orgs/octo/migrations', ['kit'])
    const idOf = async (login: string) => String((await findAccount(db, login))!.id)
    const foreign: Target[] = [
      { owner: 'alice', repo: 'hush-own', name: 'hush-own', migration_id: own },
      { owner: 'bob', repo: 'hush-shared', migration_id: own },
      { owner: 'hush-beta', repo: 'kit', migration_id: beta },
    ].map(({ owner, ...more }) => ({
      params: { ...more, owner, username: owner, org: owner, organization_id: '0' },
      body,
    }))
    foreign[2]!.params.organization_id = await idOf('hush-beta')
    const ours = { owner: 'octo', username: 'octo', org: 'octo', repo: 'kit', repo_name: 'kit' }
    const home = {
      params: { ...ours, organization_id: await idOf('octo'), migration_id: octo },
      body,
    }
    let strangers = 0
    let same = 0
    for (const { method, url, schema } of routes) {
      const takesToken = schema?.operationId !== undefined && schema.security?.length !== 0
      if (!takesToken || method === 'HEAD') continue
      const sent = method === 'GET' ? undefined : body
      for (const target of foreign) {
        const path = fill(url, target)
        for (const caller of [bearer(token), limited.browser]) {
          const response = await send(method as HTTPMethods, path, caller, sent)
          const isRefused = [403, 404].includes(response.statusCode)
          assert.ok(isRefused || response.statusCode === 200, `${method} ${path}`)
          assert.ok(!response.body.includes('hush'), `${method} ${path}: ${response.body}`)
          if (isRefused) strangers++
        }
      }
      if (method !== 'GET' || !/:(org|organization_id|owner|username)\b/.test(url)) continue
      if (url.includes('/admin/')) continue
      const path = fill(url, home)
      const [narrow, full] = await Promise.all(
        [token, operatorToken].map((each) => send('GET', path, bearer(each))),
      )
      assert.equal(narrow!.statusCode, full!.statusCode, path)
      assert.ok(!narrow!.body.includes('hush'), `${path}: ${narrow!.body}`)
      if (!full!.body.includes('hush'))
        assert.equal(withoutCloneTokens(narrow!.body), withoutCloneTokens(full!.body), path)
      same++
    }
    assert.ok(strangers > 400 && same > 30, `${strangers} ${same}`)
    const list = async (path: string, key: string) =>
      ((await send('GET', path, bearer(token))).json() as Record<string, unknown>[]).map(
        (each) => each[key],
      )
    assert.deepEqual(await list('/user/orgs', 'login'), ['octo'])
    assert.equal((await list('/user/memberships/orgs', 'role')).length, 1)
    assert.equal((await send('GET', '/user', bearer(token))).statusCode, 200)
    assert.equal((await send('GET', '/repos/bob/open', bearer(token))).statusCode, 200)
    assert.deepEqual(messageOf(await send('GET', '/user/migrations', bearer(token))), [
      403,
      ONE_ORGANIZATION,
    ])
    // It can do what its account may do there, and nothing after the account has left.
    const more = await send('POST', '/orgs/octo/migrations', bearer(token), {
      repositories: ['kit'],
    })
    assert.equal(more.statusCode, 201, more.body)
    await db.deleteFrom('memberships').execute()
    await db.updateTable('accounts').set({ site_admin: 0 }).execute()
    assert.equal((await send('GET', '/orgs/octo/migrations', bearer(token))).statusCode, 404)
    assert.equal((await send('GET', '/repos/octo/kit', bearer(token))).statusCode, 404)
  })
})

onEachEngine('a token of one organization', (engine) => {
  test('of a member shows neither private templates nor private forks elsewhere', async (t) => {
    const files = { a: '1' }
    const { db, call } = await cloneScene(
      t,
      async (host) => {
        const config = {
          'godwit.collaborator': 'carol:read',
          'godwit.templateRepository': 'carol/hush-mould',
        }
        await host.repository('octo/kit', { files, config })
        await host.repository('octo/secret', { files })
        await host.repository('carol/hush-mould', { files })
        await host.repository('carol/hush-fork', { files, config: { 'godwit.forkOf': 'octo/kit' } })
        await writeFile(join(host.root, 'octo/godwit-members'), 'carol member\n')
      },
      { engine },
    )
    const carol = await ensureAccount(db, 'carol', 0)
    const organizationId = (await findAccount(db, 'octo'))!.id
    const settings = { name: '', expiresAt: null, now: 0 }
    const full = await addToken(db, carol, settings)
    const bound = await addToken(db, carol, { ...settings, kind: 'own', organizationId })
    const seen = async (token: string) => {
      const repository = await (await call(token, '/repos/octo/kit')).json()
      const list = await (await call(token, '/orgs/octo/repos')).json()
      const [listed] = list as Record<string, unknown>[]
      return [repository as Record<string, unknown>, listed!].map((each) => [
        each.template_repository !== null,
        each.forks_count,
      ])
    }
    assert.deepEqual(await seen(full), [
      [true, 1],
      [true, 1],
    ])
    assert.deepEqual(await seen(bound), [
      [false, 0],
      [false, 0],
    ])
    const statuses = ['/repos/octo/secret', '/orgs/octo/migrations', '/orgs/octo'].map(
      async (path) => (await call(bound, path)).status,
    )
    assert.deepEqual(await Promise.all(statuses), [404, 404, 200])
  })
})

test('limited tokens clone what they may read, and clone tokens have the same limits', async (t) => {
  const files = { a: '1' }
  const story = await cloneScene(t, async (host) => {
    await host.repository('octo/kit', { files })
    await host.repository('alice/own', { files })
    await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\n')
  })
  const { db, git, cloneUrl, call } = story
  const alice = await ensureAccount(db, 'alice', 0)
  const organizationId = (await findAccount(db, 'octo'))!.id
  const settings = { name: '', expiresAt: null, now: 0, kind: 'own' } as const
  const readOnly = await addToken(db, alice, { ...settings, isReadOnly: true })
  const bound = await addToken(db, alice, { ...settings, organizationId })
  const outcome = async (name: string, password: string) => {
    const { code } = await git(
      'clone',
      '-q',
      cloneUrl(`${name}.git`, password),
      `x-${Math.random()}`,
    )
    return code === 0
  }
  assert.deepEqual(
    [await outcome('octo/kit', readOnly), await outcome('alice/own', readOnly)],
    [true, true],
  )
  assert.deepEqual(
    [await outcome('octo/kit', bound), await outcome('alice/own', bound)],
    [true, false],
  )
  const kit = (await (await call(bound, '/repos/octo/kit')).json()) as { temp_clone_token: string }
  assert.equal(await outcome('octo/kit', kit.temp_clone_token), true)
  assert.equal(await outcome('alice/own', kit.temp_clone_token), false)
})
