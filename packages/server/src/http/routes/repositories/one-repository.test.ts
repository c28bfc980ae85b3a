import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import {
  type Engine,
  onEachEngine,
  openDatabase,
} from '../../../../../../test/support/databases.ts'
import {
  DEFAULT_MEDIA_TYPE,
  descriptionServer,
} from '../../../../../../test/support/description-server.ts'
import { gitHost } from '../../../../../../test/support/git-host.ts'
import { gitDirectory } from '../../../../../hosts/src/directory/git-directory.ts'
import { ensureAccount, upsertAccount } from '../../../accounts/account-store.ts'
import { createAuthenticator } from '../../../accounts/authenticator.ts'
import { addToken } from '../../../accounts/token-store.ts'
import { DEFAULT_OPTIONS } from '../../../migrations/migration.ts'
import { insertMigration } from '../../../migrations/migration-store.ts'
import { recordCheck } from '../../../repositories/repository-check-store.ts'
import { findByName } from '../../../repositories/repository-store.ts'
import { syncAllRepositories } from '../../../repositories/sync.ts'
import { metadataForViewer } from '../../../repositories/visible-repository.ts'

const PATHS = ['', '/branches', '/tags', '/topics', '/languages', '/license', '/collaborators']

/** Creates git repositories and their index, and starts servers for them. */
async function scene(t: TestContext, engine: Engine) {
  const { db } = await openDatabase(t, engine)
  const host = await gitHost()
  t.after(host.remove)
  const collaborators = ['bob:read', 'carol:write', 'never-seen:admin']
  await host.repository('alice/Site', {
    files: { 'a.c': 'int a;\n', LICENSE: 'Ask me.\n' },
    config: {
      'godwit.collaborator': collaborators,
      'godwit.topic': ['maps', 'birds'],
      'receive.denyDeletes': 'true',
    },
  })
  await host.git(['branch', 'next'], { dir: host.path('alice/Site') })
  await host.git(['tag', 'v1'], { dir: host.path('alice/Site') })
  await host.repository('alice/open', { files: { a: '1', LICENSE: '' }, public: true })
  await host.repository('carol/fork', {
    files: { a: '1' },
    public: true,
    config: { 'godwit.forkOf': 'dora/fork' },
  })
  await host.repository('dora/fork', {
    files: { a: '1' },
    public: true,
    config: { 'godwit.forkOf': 'alice/open' },
  })
  await host.repository('octo/kit', {
    files: { a: '1' },
    config: { 'godwit.collaborator': 'bob:maintain' },
  })
  await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\ndora member\n')
  const source = gitDirectory({ root: host.root, git: host.godwitGit })
  const now = Date.now
  await syncAllRepositories({ db, source, now })
  await upsertAccount(db, 'admin', { siteAdmin: true }, now())

  const tokens = new Map<string, string>()
  async function tokenOf(login: string): Promise<string> {
    const known = tokens.get(login)
    if (known !== undefined) return known
    const account = await ensureAccount(db, login, now())
    const token = await addToken(db, account, { name: '', expiresAt: null, now: now() })
    tokens.set(login, token)
    return token
  }

  /** Without the source, the server has only the database. */
  function serve({ hasSource = true, perHour = 0 } = {}) {
    const lines: Record<string, unknown>[] = []
    const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) })
    const app = descriptionServer(t, DEFAULT_MEDIA_TYPE, {
      db,
      now,
      log,
      authenticator: createAuthenticator({ db, now }),
      rateLimit: { perHour, pool: undefined },
      source: hasSource ? source : undefined,
    })
    /** Sends a request with the token of an account, or without a token. */
    async function request(
      login: string | null,
      url: string,
      headers: Record<string, string> = {},
      method: 'GET' | 'HEAD' = 'GET',
    ) {
      const credentials = login === null ? {} : { authorization: `bearer ${await tokenOf(login)}` }
      const all = { ...credentials, 'user-agent': 'test', ...headers }
      const response = await app.inject({ method, url, headers: all })
      return {
        status: response.statusCode,
        headers: response.headers,
        text: response.body,
        json: () => JSON.parse(response.body),
      }
    }
    const statuses = async (login: string | null, url: string) =>
      Promise.all(PATHS.map(async (path) => (await request(login, `${url}${path}`)).status))
    return { request, statuses, lines }
  }
  const sync = () => syncAllRepositories({ db, source, now })

  /** Inserts a migration of repositories of alice. */
  async function migrate(names: string[]): Promise<number> {
    const account = await ensureAccount(db, 'alice', now())
    const entries = await findByName(
      db,
      names.map((name) => ({ owner: 'alice', name })),
    )
    const repositories = await metadataForViewer(db, { account }, entries)
    const migration = {
      guid: crypto.randomUUID(),
      owner: account,
      options: DEFAULT_OPTIONS,
      repositories,
    }
    const { id } = await db
      .transaction()
      .execute((tx) => insertMigration(tx, { ...migration, organizations: null, now: now() }))
    return id
  }
  return { db, host, sync, serve, migrate, ...serve() }
}

onEachEngine('a repository', (engine) => {
  test('and the resources that its JSON links to', async (t) => {
    const { db, host, sync, serve, migrate, request, statuses, lines } = await scene(t, engine)

    await t.test('is returned, in any letter case, only to callers who may read it', async () => {
      assert.deepEqual(
        await statuses('alice', '/repos/alice/site'),
        [200, 200, 200, 200, 200, 200, 200],
      )
      assert.deepEqual(
        await statuses('carol', '/repos/ALICE/SITE'),
        [200, 200, 200, 200, 200, 200, 200],
      )
      assert.deepEqual(
        await statuses('bob', '/repos/alice/site'),
        [200, 200, 200, 200, 200, 200, 403],
      )
      for (const login of ['dora', 'admin'])
        assert.deepEqual(
          await statuses(login, '/repos/alice/site'),
          PATHS.map(() => 404),
          login,
        )
      assert.deepEqual(
        await statuses(null, '/repos/alice/site'),
        [404, 404, 404, 404, 404, 404, 401],
      )
      assert.deepEqual(
        await statuses(null, '/repos/alice/open'),
        [200, 200, 200, 200, 200, 404, 401],
      )
      assert.deepEqual(
        await statuses('alice', '/repos/alice/none'),
        PATHS.map(() => 404),
      )
      for (const path of [
        '/repos/alice/site.git',
        '/repos/alice/%00',
        '/repos/../site',
        '/repos/alice/',
      ])
        assert.equal((await request('alice', path)).status, 404, path)
      assert.equal((await request('alice', '/repos/ALICE/SITE')).json().full_name, 'alice/Site')
      const [hidden, none] = await Promise.all(
        ['site', 'none'].map((name) => request('dora', `/repos/alice/${name}`)),
      )
      assert.equal(hidden!.text, none!.text)
      const bad = await request(null, '/repos/alice/open', { authorization: 'bearer wrong' })
      assert.deepEqual([bad.status, bad.json().message], [401, 'Bad credentials'])
    })

    await t.test(
      'of an organization is returned to its owners and site admins, not to other members',
      async () => {
        const seen = async (login: string) => {
          const { status, json } = await request(login, '/repos/octo/kit')
          return status === 200 ? json().permissions : status
        }
        const all = { admin: true, push: true, pull: true }
        assert.deepEqual([await seen('alice'), await seen('admin')], [all, all])
        assert.deepEqual([await seen('dora'), await seen('carol')], [404, 404])
        assert.deepEqual(await seen('bob'), { ...all, admin: false })
        const { organization, owner } = (await request('alice', '/repos/octo/kit')).json()
        assert.deepEqual(organization, owner)
        const listed = (await request('alice', '/repos/octo/kit/collaborators')).json()
        assert.deepEqual(rolesIn(listed), ['alice admin', 'bob maintain'])
      },
    )

    await t.test('has branches, tags, topics, languages and a licence', async () => {
      const sha = await host.git(['rev-parse', 'HEAD'], { dir: host.path('alice/Site') })
      const at = '/repos/alice/site'
      const branches = await request('alice', `${at}/branches`)
      const commit = { sha, url: `https://git.host.test/api/repos/alice/Site/commits/${sha}` }
      assert.deepEqual(branches.json(), [
        { name: 'main', commit, protected: true },
        { name: 'next', commit, protected: false },
      ])
      for (const [query, names] of [
        ['?protected=true', ['main']],
        ['?protected=false', ['next']],
        ['?protected=maybe&per_page=1&page=2', ['next']],
      ] as const) {
        const listed: { name: string }[] = (await request('alice', `${at}/branches${query}`)).json()
        assert.deepEqual(
          listed.map(({ name }) => name),
          names,
          query,
        )
      }
      const page = await request('alice', `${at}/branches?per_page=1`)
      assert.match(String(page.headers.link), /branches\?per_page=1&page=2>; rel="next"/)
      assert.equal(page.headers['x-total-count'], '2')
      const [tag] = (await request('alice', `${at}/tags`)).json()
      assert.deepEqual([tag.name, tag.commit], ['v1', commit])
      assert.match(tag.tarball_url, /\/repos\/alice\/Site\/tarball\/refs\/tags\/v1$/)
      assert.deepEqual((await request('alice', `${at}/topics`)).json(), {
        names: ['maps', 'birds'],
      })
      assert.deepEqual((await request('alice', `${at}/languages`)).json(), { C: 7 })
      const license = (await request('alice', `${at}/license`)).json()
      assert.equal(Buffer.from(license.content, 'base64').toString(), 'Ask me.\n')
      assert.deepEqual([license.path, license.size, license.license], ['LICENSE', 8, null])
    })

    await t.test('is 304 until it changes', async () => {
      for (const path of [
        '',
        '/branches',
        '/tags',
        '/topics',
        '/languages',
        '/license',
        '/collaborators',
      ]) {
        const url = `/repos/alice/site${path}`
        const { headers } = await request('alice', url)
        const again = await request('alice', url, { 'if-none-match': String(headers.etag) })
        assert.deepEqual([again.status, again.text], [304, ''], path)
        const head = await request('alice', url, {}, 'HEAD')
        assert.deepEqual([head.status, head.text, head.headers.etag], [200, '', headers.etag], path)
      }
      const names = async () =>
        (await request('alice', '/repos/alice/site/branches'))
          .json()
          .map((each: { name: string }) => each.name)
      assert.deepEqual(await names(), ['main', 'next'])
      await host.git(['branch', 'later'], { dir: host.path('alice/Site') })
      assert.deepEqual(await names(), ['later', 'main', 'next'])
    })

    await t.test('lists collaborators by affiliation and permission', async () => {
      const listed = async (query = '') =>
        rolesIn((await request('carol', `/repos/alice/site/collaborators${query}`)).json())
      for (const login of ['bob', 'carol']) await request(login, '/user')
      const all = ['alice admin', 'bob read', 'carol write']
      assert.deepEqual(await listed(), all)
      assert.deepEqual(await listed('?affiliation=outside'), all.slice(1))
      assert.deepEqual(await listed('?permission=push'), ['alice admin', 'carol write'])
      assert.deepEqual(await listed('?permission=all&affiliation=everything'), all)
      assert.deepEqual(await listed('?per_page=1&page=3'), ['carol write'])
      const [, , carol] = (await request('carol', '/repos/alice/site/collaborators')).json()
      const may = { admin: false, maintain: false, push: true, triage: true, pull: true }
      assert.deepEqual(carol.permissions, may)
    })

    await t.test('says what somebody may do, to callers who may push', async () => {
      const statusOf = async (as: string, url: string) => (await request(as, url)).status
      const at = '/repos/alice/site/collaborators'
      for (const [login, status] of [
        ['BOB', 204],
        ['alice', 204],
        ['dora', 404],
        ['nobody', 404],
      ] as const)
        assert.equal(await statusOf('carol', `${at}/${login}`), status, login)
      assert.equal(await statusOf('bob', `${at}/bob`), 403)
      assert.equal(await statusOf('dora', `${at}/bob`), 404)
      const roleOf = async (repository: string, login: string) => {
        const url = `/api/v3/repos/${repository}/collaborators/${login}/permission`
        const { permission, role_name, user } = (await request('alice', url)).json()
        return [permission, role_name, user.login, user.permissions.pull]
      }
      assert.deepEqual(await roleOf('alice/site', 'carol'), ['write', 'write', 'carol', true])
      assert.deepEqual(await roleOf('octo/kit', 'bob'), ['write', 'maintain', 'bob', true])
      assert.deepEqual(await roleOf('alice/site', 'dora'), ['none', 'none', 'dora', false])
      assert.deepEqual(await roleOf('alice/open', 'dora'), ['read', 'read', 'dora', true])
      for (const login of ['nobody', 'octo'])
        assert.equal(await statusOf('alice', `${at}/${login}/permission`), 404, login)
      assert.equal(await statusOf('bob', `${at}/carol/permission`), 403)
    })

    await t.test('and its owner are found by ID, by those who may see them', async () => {
      const site = (await request('alice', '/repos/alice/site')).json()
      const found = await request('bob', `/repositories/${site.id}`)
      assert.equal(found.json().full_name, 'alice/Site')
      const prefixed = (await request('bob', `/api/v3/repositories/${site.id}`)).json()
      assert.equal(prefixed.url, 'https://git.host.test/api/api/v3/repos/alice/Site')
      const open = (await request(null, '/repos/alice/open')).json()
      assert.equal((await request(null, `/repositories/${open.id}`)).json().id, open.id)
      for (const login of ['dora', null])
        assert.equal((await request(login, `/repositories/${site.id}`)).status, 404)
      for (const id of ['0', '99999', 'x', '9'.repeat(20)])
        assert.equal((await request('alice', `/repositories/${id}`)).status, 404, id)
      const kit = (await request('alice', '/repos/octo/kit')).json()
      const seen = async (as: string | null, id: number) => {
        const { status, json } = await request(as, `/user/${id}`)
        return status === 200 ? json().login : status
      }
      assert.equal(await seen(null, site.owner.id), 'alice')
      assert.equal(await seen('bob', kit.owner.id), 'octo')
      assert.equal(await seen('carol', kit.owner.id), 404)
      assert.equal(await seen(null, kit.owner.id), 404)
    })

    await t.test('has an organization that says who is a member, to members', async () => {
      const statusOf = async (as: string, url: string) => (await request(as, url)).status
      for (const [as, login, status] of [
        ['alice', 'DORA', 204],
        ['dora', 'alice', 204],
        ['alice', 'bob', 404],
        ['bob', 'dora', 404],
        ['admin', 'dora', 204],
      ] as const)
        assert.equal(await statusOf(as, `/orgs/octo/members/${login}`), status, `${as} ${login}`)
      const roleOf = async (as: string, url: string) => {
        const { status, json } = await request(as, url)
        return status === 200 ? [json().role, json().user.login, json().state] : status
      }
      const of = '/orgs/Octo/memberships'
      assert.deepEqual(await roleOf('alice', `${of}/dora`), ['member', 'dora', 'active'])
      assert.deepEqual(await roleOf('dora', `${of}/alice`), ['admin', 'alice', 'active'])
      assert.equal(await roleOf('alice', `${of}/bob`), 404)
      assert.equal(await roleOf('bob', `${of}/dora`), 404)
      const own = '/api/v3/user/memberships/orgs/OCTO'
      assert.deepEqual(await roleOf('alice', own), ['admin', 'alice', 'active'])
      for (const login of ['bob', 'admin']) assert.equal(await roleOf(login, own), 404, login)
    })

    await t.test(
      'is returned from the database without access to the source, and the log says why refs are 404',
      async () => {
        const { statuses, lines } = serve({ hasSource: false })
        assert.deepEqual(
          await statuses('alice', '/repos/alice/site'),
          [200, 404, 404, 200, 404, 404, 200],
        )
        const reasons = lines.filter(({ repository }) => repository === 'alice/Site')
        assert.equal(reasons.length, 4)
        for (const { reason } of reasons) assert.match(String(reason), /has no repositories/)
      },
    )

    await t.test('has a rate limit without a token', async () => {
      const { request } = serve({ perHour: 5 })
      const first = await request(null, '/repos/alice/open')
      assert.deepEqual(
        [first.headers['x-ratelimit-limit'], first.headers['x-oauth-scopes']],
        ['5', undefined],
      )
      const known = { 'if-none-match': String(first.headers.etag) }
      assert.equal(
        (await request(null, '/repos/alice/open', known)).headers['x-ratelimit-remaining'],
        '3',
        'a 304 counts, too',
      )
      for (let more = 0; more < 3; more++)
        assert.equal((await request(null, '/versions')).status, 200)
      const refused = await request(null, '/repos/alice/open')
      assert.equal(refused.status, 403)
      assert.match(refused.json().message, /^API rate limit exceeded for 127\.0\.0\.1\./)
      // A `retry-after` would mark a secondary limit.
      const { 'retry-after': retryAfter, 'x-ratelimit-remaining': remaining } = refused.headers
      assert.deepEqual([retryAfter, remaining], [undefined, '0'])
      const { rate, resources } = (await request(null, '/rate_limit')).json()
      assert.deepEqual([rate.remaining, resources.graphql.limit], [0, 0])
      assert.equal((await request('alice', '/repos/alice/open')).status, 200)
    })
    await t.test('accounts are returned only to callers who may see them', async () => {
      const status = async (login: string | null, url: string) => (await request(login, url)).status
      assert.equal((await request('bob', '/users/ALICE')).json().login, 'alice')
      assert.equal(await status(null, '/users/alice'), 200)
      assert.equal(await status(null, '/users/admin'), 404)
      for (const url of ['/users/none', '/users/%00', '/users/a%2Fb'])
        assert.equal(await status('alice', url), 404, url)
      const octo = await request('dora', '/users/octo')
      assert.deepEqual([octo.status, octo.json().type], [200, 'Organization'])
      assert.equal(await status('bob', '/users/octo'), 200, 'bob may read one of its repositories')
      assert.equal(await status('admin', '/users/octo'), 200)
      for (const login of ['carol', null]) assert.equal(await status(login, '/users/octo'), 404)
    })
    await t.test('repositories of an owner are listed for callers who may read them', async () => {
      const namesFor = async (login: string | null, path: string) => {
        const { status, headers, json } = await request(login, path)
        assert.equal(status, 200)
        const names = (json() as { name: string }[]).map(({ name }) => name)
        return [Number(headers['x-total-count']), ...names]
      }
      assert.deepEqual(await namesFor('alice', '/users/alice/repos'), [2, 'open', 'Site'])
      assert.deepEqual(await namesFor('carol', '/users/ALICE/repos'), [2, 'open', 'Site'])
      assert.deepEqual(await namesFor('alice', '/users/alice/repos?per_page=1&page=2'), [2, 'Site'])
      assert.deepEqual(await namesFor('alice', '/users/alice/repos?q=SI&type=all'), [1, 'Site'])
      // The last value of a repeated parameter counts; an empty one is ignored.
      assert.deepEqual(await namesFor('alice', '/users/alice/repos?q=si&type='), [1, 'Site'])
      const repeated = '/users/alice/repos?q=si&type=member&type=all'
      assert.deepEqual(await namesFor('alice', repeated), [1, 'Site'])
      for (const url of ['/users/alice/repos?q=alice', '/orgs/octo/repos?q=octo'])
        assert.deepEqual(await namesFor('alice', url), [0], 'the name only')
      for (const q of ['IT', 'OCTO/ki', 'octo/'])
        assert.deepEqual(await namesFor('alice', `/orgs/octo/repos?q=${q}`), [1, 'kit'], q)
      assert.deepEqual(await namesFor('alice', '/users/alice/repos?q=Alice/s'), [1, 'Site'])
      for (const login of ['dora', 'admin', null])
        assert.deepEqual(await namesFor(login, '/users/alice/repos'), [1, 'open'])
      for (const login of ['alice', 'admin', 'bob'])
        assert.deepEqual(await namesFor(login, '/users/octo/repos'), [1, 'kit'], login)
      assert.deepEqual(await namesFor('dora', '/users/octo/repos'), [0])
      for (const login of ['carol', null])
        assert.equal((await request(login, '/users/octo/repos')).status, 404)
      const [site] = (await request('bob', '/users/alice/repos?q=site')).json()
      assert.deepEqual(site.permissions, { admin: false, push: false, pull: true })
      const invalid = await request('alice', '/users/alice/repos?type=member')
      assert.deepEqual(
        [invalid.status, invalid.json().errors],
        [422, [{ resource: 'Repository', field: 'type', code: 'invalid' }]],
      )
    })
    await t.test('licences and versions need no token', async () => {
      const all = (await request(null, '/licenses')).json()
      assert.equal(all.length, 13)
      assert.equal((await request(null, '/licenses?featured=true')).json().length, 3)
      const page = await request(null, '/licenses?per_page=5&page=2')
      assert.equal(page.json().length, 5)
      assert.match(String(page.headers.link), /licenses\?per_page=5&page=3>; rel="next"/)
      for (const { url, key } of all) {
        const { status, json } = await request(null, url.replace('https://git.host.test/api', ''))
        assert.equal(status, 200, key)
        assert.ok(json().body.length > 500, key)
      }
      const { body, permissions } = (await request(null, '/licenses/Zlib')).json()
      assert.match(body, /This software is provided 'as-is'/)
      assert.deepEqual(permissions, [])
      for (const key of ['none', '..%2F..%2Fpackage', '__proto__', 'constructor'])
        assert.equal((await request(null, `/licenses/${key}`)).status, 404, key)
      assert.deepEqual((await request(null, '/versions')).json(), ['2026-03-10', '2022-11-28'])
      const versioned = await request(null, '/versions', { 'x-github-api-version': '1999-01-01' })
      assert.equal(versioned.status, 400)
    })

    await t.test('is a filter of the list of summaries', async () => {
      const listed = async (fullName: string, more = '') => {
        const { status, headers, json } = await request(
          'alice',
          `/user/migrations/summaries?repository=${fullName}${more}`,
        )
        assert.equal(status, 200)
        const ids = (json() as { id: number }[]).map(({ id }) => id)
        return [ids, Number(headers['x-total-count'])]
      }
      const [both, one] = [await migrate(['Site', 'open']), await migrate(['open'])]
      assert.deepEqual(await listed('alice/site'), [[both], 1])
      assert.deepEqual(await listed('ALICE/open'), [[one, both], 2])
      assert.deepEqual(await listed('alice/open', '&per_page=1&page=2'), [[both], 2])
      for (const none of ['carol/fork', 'alice/none', 'alice', '%00/x', ''])
        assert.deepEqual(await listed(none), [[], 0], none)
      await host.repository('alice/gone', { files: { a: '1' } })
      await sync()
      const last = await migrate(['gone'])
      await rm(host.path('alice/gone'), { recursive: true })
      await sync()
      assert.deepEqual(await listed('alice/gone'), [[last], 1])
    })

    await t.test('has the parent and the source of a fork', async () => {
      const forkChain = async (login: string | null) => {
        const { fork, parent, source: root } = (await request(login, '/repos/carol/fork')).json()
        return [fork, parent?.full_name, root?.full_name]
      }
      assert.deepEqual(await forkChain(null), [true, 'dora/fork', 'alice/open'])
      await rm(join(host.path('alice/open'), 'git-daemon-export-ok'))
      await sync()
      assert.deepEqual(await forkChain('bob'), [true, 'dora/fork', 'dora/fork'])
      assert.deepEqual(await forkChain('alice'), [true, 'dora/fork', 'alice/open'])
    })

    await t.test(
      'that is damaged is still returned, and the log says what cannot be read',
      async () => {
        const problem = async () => (await request('alice', '/repos/alice/site')).json().problem
        assert.equal(await problem(), null)
        const check = { fullName: 'alice/Site', checkedAt: 1, warning: null, bytes: 0, tookMs: 1 }
        await recordCheck(db, { ...check, reason: 'a pack is damaged' })
        assert.equal(await problem(), 'a pack is damaged')
        await recordCheck(db, { ...check, reason: null })
        assert.equal(await problem(), null)
        await host.loseObjects('alice/Site')
        const [record, , , topics, languages, license] = await statuses(
          'alice',
          '/repos/alice/site',
        )
        assert.deepEqual([record, topics, languages, license], [200, 200, 404, 404])
        assert.ok(lines.some(({ msg }) => msg === 'cannot read the languages of alice/Site'))
        await sync()
        assert.match(await problem(), /./)
      },
    )
  })
})

const rolesIn = (listed: { login: string; role_name: string }[]): string[] =>
  listed.map(({ login, role_name }) => `${login} ${role_name}`)
