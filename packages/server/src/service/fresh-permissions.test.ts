import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Engine, onEachEngine } from '../../../../test/support/databases.ts'
import {
  DEFAULT_MEDIA_TYPE,
  descriptionServer,
} from '../../../../test/support/description-server.ts'
import { endOf, exportScene, outcomesByName } from '../../../../test/support/export-scene.ts'
import { startForge } from '../../../../test/support/forge/fake-forge.ts'
import type { User } from '../../../../test/support/forge/forge-data.ts'
import { GITEA_1_27 } from '../../../../test/support/forge/render.ts'
import { NOT_FOUND, PROXY_NOT_FOUND } from '../../../../test/support/forge/responses.ts'
import { until } from '../../../../test/support/wait-until.ts'
import { connectForge } from '../../../hosts/src/forge/connect-forge.ts'
import { ensureAccount, findAccount, upsertAccount } from '../accounts/account-store.ts'
import { createAuthenticator } from '../accounts/authenticator.ts'
import { addToken } from '../accounts/token-store.ts'
import { exportHandlers } from '../exporter/export-migration.ts'
import { archiveLinks } from '../http/credentials/archive-links.ts'
import { DEFAULT_OPTIONS } from '../migrations/migration.ts'
import { FRESH, RECENT_IF_AVAILABLE } from '../repositories/refresh-permissions.ts'
import { findByName } from '../repositories/repository-store.ts'
import { syncAllRepositories } from '../repositories/sync.ts'
import { createSchedule } from '../schedules/change-schedule.ts'
import { runDue } from '../schedules/run-schedule.ts'
import { findSchedule } from '../schedules/schedule-store.ts'
import { openForgeSignIn, openPermissions, withForge } from './open-configured-forge.ts'

const MINUTE = 60_000
const BOB = 'b2'.repeat(20)
const UNAVAILABLE = { response: { status: 502 } }
const TOKEN = { name: '', expiresAt: null, now: 0 }

/**
 * Starts a forge with the organization octo, which ann owns, and its private repository tools, of which bob is an administrator.
 * Godwit uses this forge, with a server and an exporter.
 */
async function scene(t: TestContext, engine: Engine) {
  const forge = await startForge({ dialect: GITEA_1_27 })
  t.after(forge.stop)
  const { world } = forge
  const [ann, bob] = [world.addUser('ann'), world.addUser('bob')]
  const octo = world.addUser('octo', { isOrganization: true })
  const owners = world.addTeam(octo, 'Owners', 'owner', [ann])
  const tools = world.addRepository(octo, 'tools')
  tools.isPrivate = true
  tools.collaborators.set(bob, 'admin')
  forge.tokens.set(BOB, bob)
  const exporting = await exportScene(t, { 'octo/tools': 'one' }, engine)
  const { db, queue, host } = exporting
  let elapsed = 0
  const now = () => Date.now() + elapsed
  const warnings: string[] = []
  const audited: string[] = []
  const log = {
    warn: (_: object, message: string) => void warnings.push(message),
    info: ({ audit, subject }: Record<string, string>) => void audited.push(`${audit} ${subject}`),
  }
  const connected = connectForge({ url: forge.url, token: 'admin-token', now, pauseMs: 1 })
  const source = withForge(exporting.dependencies.source, connected, { db, now, log })
  const permissionsRefresher = openPermissions({
    db,
    now,
    log: log as never,
    source,
    forge: connected,
  })
  await syncAllRepositories({ db, source, now })

  const signIn = openForgeSignIn({
    db,
    now,
    log: log as never,
    permissionsRefresher,
    forge: connected,
  })
  const authenticator = createAuthenticator({ db, now, forge: signIn })
  const starting = { maxUnfinished: 99, lockTtlMs: MINUTE, isIndexRead: () => true }
  const { blobs } = exporting.dependencies
  const links = archiveLinks('http://x', Buffer.alloc(32), MINUTE)
  const app = descriptionServer(t, DEFAULT_MEDIA_TYPE, {
    ...{ db, queue, now, source, permissionsRefresher, authenticator, blobs, links, ...starting },
  })
  const request = async (token: string, url: string, payload?: object) => {
    const method = payload ? 'POST' : 'GET'
    const accept = 'application/vnd.github.wyandotte-preview+json'
    const headers = { 'user-agent': 'test', accept, authorization: `token ${token}` }
    const options = { method, url, headers, ...(payload && { payload }) } as const
    const response = await app.inject(options)
    const isJson = /json/.test(String(response.headers['content-type']))
    const body = isJson ? response.json() : response.body
    return { status: response.statusCode, headers: response.headers, body }
  }
  return {
    ...{
      forge,
      world,
      ann,
      bob,
      octo,
      owners,
      tools,
      db,
      host,
      warnings,
      audited,
      now,
      request,
      permissionsRefresher: permissionsRefresher!,
    },
    start: (token: string, where = '/user') =>
      request(token, `${where}/migrations`, {
        repositories: ['octo/tools'],
        exclude_metadata: true,
      }),
    /** Creates an account of the forge with a token. */
    addForgeUser(login: string) {
      const user = world.addUser(login)
      const token = login.padEnd(40, '0')
      forge.tokens.set(token, user)
      return { user, token }
    },
    ourToken: async (login: string) =>
      addToken(db, await ensureAccount(db, login, 0), { name: '', expiresAt: null, now: now() }),
    /** Creates a schedule of tools for a person or an organization. Returns a function that runs it. */
    async scheduled(login: string, { login: ownerLogin }: User) {
      const shared = {
        db,
        queue,
        now,
        source,
        permissionsRefresher,
        blobs,
        log: exporting.dependencies.log,
      }
      const dependencies = { ...shared, ...starting, maxSchedules: 9 }
      const maker = await ensureAccount(db, login, 0)
      const owner = (await findAccount(db, ownerLogin))!
      const order = {
        repositories: ['octo/tools'],
        options: DEFAULT_OPTIONS,
        every: 'day',
        at: '03:00',
        timeZone: 'UTC',
      }
      const { id } = await createSchedule(dependencies, { owner }, maker, order as never)
      return async () => {
        const schedule = (await findSchedule(db, { owner }, id))!
        return runDue(dependencies, schedule, schedule.nextRunAt + 24 * 60 * MINUTE)
      }
    },
    sync: () => syncAllRepositories({ db, source, now }),
    advanceClock: (ms: number) => {
      elapsed += ms
    },
    async work(meanwhile: () => Promise<unknown> = async () => {}) {
      const archiveTtlMs = 60 * MINUTE
      const dependencies = {
        ...exporting.dependencies,
        source,
        forge: connected,
        permissionsRefresher,
        now,
        archiveTtlMs,
      }
      const handlers = exportHandlers(dependencies)
      const errors: string[] = []
      const onError = (error: unknown) => void errors.push(String(error))
      const working = queue.work(handlers, { concurrency: 1, onError })
      await meanwhile()
      await until(
        () => `all jobs are done; ${errors.join('; ')}`,
        async () => (await queue.backlog()).length === 0 && queue.running() === 0,
      )
      await working.stop()
      return errors
    },
  }
}

/** Asserts GitHub's error for a repository that does not exist, or that the caller may not migrate. */
function assertNotCovered({ status, body }: { status: number; body: Record<string, unknown> }) {
  assert.equal(status, 422)
  assert.equal(body.message, 'Validation Failed')
  assert.deepEqual(body.errors, [
    { resource: 'Migration', field: 'repositories', code: 'missing', index: 0 },
  ])
}

onEachEngine('permissions of the forge', (engine, testOnSqlite) => {
  testOnSqlite(
    'allow a migration with any token, and a revoked right is refused at once',
    async (t) => {
      const { tools, bob, request, start, ourToken } = await scene(t, engine)
      const ours = await ourToken('bob')
      for (const token of [BOB, ours]) assert.equal((await start(token)).status, 201)
      const listed = await request(BOB, '/user/repos')
      assert.deepEqual(
        listed.body.map((each: { full_name: string }) => each.full_name),
        ['octo/tools'],
      )
      tools.collaborators.set(bob, 'write')
      for (const token of [BOB, ours]) assertNotCovered(await start(token))
      assertNotCovered(await start(await ourToken('mallory')))
    },
  )

  testOnSqlite(
    'are refreshed by the job: a repository that may no longer be read fails with the reason',
    async (t) => {
      const { db, tools, bob, start, work, advanceClock } = await scene(t, engine)
      const { id } = (await start(BOB)).body
      tools.collaborators.delete(bob)
      advanceClock(MINUTE)
      await work()
      const reason = 'the account that started the migration may no longer read it'
      assert.deepEqual(await outcomesByName(db, id), { 'octo/tools': `failed: ${reason}` })
      assert.equal((await endOf(db, id)).state, 'failed')
    },
  )

  testOnSqlite(
    'are asked for before a link to an archive is made, also within a minute',
    async (t) => {
      const { forge, start, work, request, tools, bob, ann, owners, ...rest } = await scene(
        t,
        engine,
      )
      const { ourToken, advanceClock } = rest
      const anns = await ourToken('ann')
      const archives = [
        [BOB, `/user/migrations/${(await start(BOB)).body.id}/archive`],
        [anns, `/orgs/octo/migrations/${(await start(anns, '/orgs/octo')).body.id}/archive`],
      ] as const
      await work()
      const statuses = async () => {
        const answers = []
        for (const [token, path] of archives)
          for (const url of [path, `${path}/link`]) answers.push((await request(token, url)).status)
        return answers
      }
      assert.deepEqual(await statuses(), [302, 200, 302, 200])
      // The archive of a forge that is gone can still be downloaded.
      forge.faultFor = () => UNAVAILABLE
      assert.deepEqual(await statuses(), [302, 200, 302, 200])
      forge.faultFor = () => undefined
      // After an outage, the forge is asked again after ten seconds.
      advanceClock(10_000)
      tools.collaborators.delete(bob)
      owners.members.delete(ann)
      assert.deepEqual(await statuses(), [403, 403, 404, 404])
    },
  )

  testOnSqlite('make the job wait while the forge does not respond', async (t) => {
    const { db, forge, start, work } = await scene(t, engine)
    const { id } = (await start(BOB)).body
    forge.faultFor = () => ({ response: { status: 429, headers: { 'retry-after': '3' } } })
    for (const table of ['forge_permissions', 'forge_repositories'] as const)
      await db.updateTable(table).set({ requested_at: 0 }).execute()
    const before = forge.requests.length
    const errors = await work(async () => {
      await until('the forge has rejected a request', () => forge.requests.length > before)
      forge.faultFor = () => undefined
    })
    assert.match(errors.join(), /RetryLater: .* asks to wait/)
    assert.deepEqual(await outcomesByName(db, id), { 'octo/tools': 'exported' })
  })

  testOnSqlite(
    'stay valid for a minute while the forge is unavailable, then a start gets 503',
    async (t) => {
      const { forge, start, advanceClock, ourToken } = await scene(t, engine)
      const ours = await ourToken('bob')
      assert.equal((await start(ours)).status, 201)
      forge.faultFor = () => UNAVAILABLE
      advanceClock(MINUTE / 2)
      assert.equal((await start(ours)).status, 201)
      advanceClock(MINUTE / 2)
      const unavailable = await start(ours)
      assert.equal(unavailable.status, 503)
      assert.equal(unavailable.headers['retry-after'], '10')
      assert.match(
        unavailable.body.message,
        /^The forge does not respond, and only it knows what you may do/,
      )
      assert.equal((await start(await ourToken('ann'), '/orgs/octo')).status, 503)
    },
  )

  testOnSqlite('that must be fresh are not taken from an older response', async (t) => {
    const { forge, permissionsRefresher, start, advanceClock, db } = await scene(t, engine)
    assert.equal((await start(BOB)).status, 201)
    const bob = (await findAccount(db, 'bob'))!
    forge.faultFor = () => UNAVAILABLE
    advanceClock(2 * MINUTE)
    const stored = permissionsRefresher.refresh(bob, RECENT_IF_AVAILABLE)
    await assert.rejects(permissionsRefresher.refresh(bob, FRESH), {
      name: 'PermissionsUnavailable',
    })
    assert.equal(await stored, undefined)
  })

  testOnSqlite('make members of the owners team owners of the organization', async (t) => {
    const { ann, owners, start, ourToken, request, audited } = await scene(t, engine)
    const [anns, bobs] = [await ourToken('ann'), await ourToken('bob')]
    assert.equal((await start(bobs, '/orgs/octo')).status, 404)
    assert.equal((await start(anns, '/orgs/octo')).status, 201)
    const { body } = await request(anns, '/user/orgs')
    assert.deepEqual(
      body.map(({ login }: { login: string }) => login),
      ['octo'],
    )
    owners.members.delete(ann)
    assert.equal((await start(anns, '/orgs/octo')).status, 404)
    const changes = audited.filter((entry) => entry.endsWith(' account ann'))
    assert.deepEqual(changes, ['member.put account ann', 'member.remove account ann'])
  })

  testOnSqlite('are checked before a schedule starts a migration', async (t) => {
    const { db, ann, bob, owners, octo, tools, scheduled, advanceClock } = await scene(t, engine)
    const [bobs, octos] = [await scheduled('bob', bob), await scheduled('ann', octo)]
    for (const run of [bobs, octos]) assert.equal((await run())?.outcome, 'started')
    await db.updateTable('migrations').set({ state: 'failed' }).execute()
    tools.collaborators.delete(bob)
    owners.members.delete(ann)
    advanceClock(MINUTE)
    assert.match((await bobs())?.reason ?? '', /^bob may no longer migrate/)
    assert.equal((await octos())?.reason, 'ann is no longer an owner of octo')
  })

  testOnSqlite(
    'end with the account: a schedule of a suspended or deleted account stops',
    async (t) => {
      const { world, bob, scheduled, advanceClock, request } = await scene(t, engine)
      // An account is known as one of the forge after it has signed in with a token of the forge.
      assert.equal((await request(BOB, '/user')).status, 200)
      const run = await scheduled('bob', bob)
      bob.isSuspended = true
      advanceClock(MINUTE)
      const { reason, isPaused } = (await run())!
      assert.deepEqual([reason, isPaused], ['bob is suspended on the forge', true])
      bob.isSuspended = false
      const again = await scheduled('bob', bob)
      world.users.delete('bob')
      advanceClock(MINUTE)
      assert.equal((await again())!.reason, 'bob is no longer on the forge')
    },
  )

  testOnSqlite('do not end with a 404 of a proxy or a single 404 of the forge', async (t) => {
    const { db, forge, bob, scheduled, start, work, advanceClock, request } = await scene(t, engine)
    assert.equal((await request(BOB, '/user')).status, 200)
    const run = await scheduled('bob', bob)
    const { id } = (await start(BOB)).body
    forge.faultFor = () => ({ response: PROXY_NOT_FOUND })
    advanceClock(MINUTE)
    await assert.rejects(run(), { name: 'PermissionsUnavailable' })
    let passing = 1
    forge.faultFor = () => (passing-- > 0 ? { response: NOT_FOUND } : undefined)
    advanceClock(MINUTE)
    assert.equal((await run())?.outcome, 'started')
    await work()
    assert.equal((await endOf(db, id)).state, 'exported')
  })

  testOnSqlite('do not cover a repository on disk that the forge does not know', async (t) => {
    const { db, world, start, work, advanceClock, sync, request } = await scene(t, engine)
    const { id } = (await start(BOB)).body
    world.repositories.clear()
    advanceClock(MINUTE)
    await work()
    const reason = 'the forge does not know this repository'
    assert.deepEqual(await outcomesByName(db, id), { 'octo/tools': `failed: ${reason}` })
    assertNotCovered(await start(BOB))
    const hiddenRepositories = { fullName: 'octo/tools' }
    const refused = [{ path: 'octo/tools.git', reason, hiddenRepositories, isWithdrawn: true }]
    assert.deepEqual((await sync()).refused, refused)
    assert.deepEqual((await request(BOB, '/user/repos')).body, [])
  })

  testOnSqlite('end with the account: its pending migration is not exported', async (t) => {
    const { db, world, host, start, work, advanceClock } = await scene(t, engine)
    const { id } = (await start(BOB)).body
    world.users.delete('bob')
    advanceClock(MINUTE)
    await work()
    const { state, reason } = await endOf(db, id)
    assert.equal(state, 'failed')
    assert.match(reason!, /^bob is no longer on the forge$/)
    assert.deepEqual(host.segmentsMade, [])
  })

  testOnSqlite('do not pass to another account that gets the same login', async (t) => {
    const { forge, world, bob, start, request, advanceClock, ourToken } = await scene(t, engine)
    const { id } = (await request(BOB, '/user')).body
    const ours = await ourToken('bob')
    bob.login = 'robert'
    world.users.delete('bob')
    world.users.set('robert', bob)
    const other = world.addUser('bob')
    for (const { collaborators } of world.repositories.values()) collaborators.set(other, 'admin')
    // The request started with the former login. A renamed person is found by the id.
    assertNotCovered(await start(ours))
    advanceClock(MINUTE)
    const again = await request(BOB, '/user')
    assert.deepEqual([again.body.id, again.body.login], [id, 'robert'])
    assert.equal((await start(ours)).status, 201)
    forge.tokens.set('c3'.repeat(20), other)
    assert.notEqual((await request('c3'.repeat(20), '/user')).body.id, id)
  })

  testOnSqlite('are found for a repository that is newer than the repository index', async (t) => {
    const { world, octo, bob, request, host } = await scene(t, engine)
    const order = { repositories: ['octo/fresh'] }
    world.addRepository(octo, 'fresh').collaborators.set(bob, 'admin')
    assertNotCovered(await request(BOB, '/user/migrations', order))
    host.contents.set('octo/fresh', 'one')
    assert.equal((await request(BOB, '/user/migrations', order)).status, 201)
  })

  testOnSqlite('end while the forge requires a second factor, with every token', async (t) => {
    const { world, bob, start, advanceClock, ourToken, request } = await scene(t, engine)
    const ours = await ourToken('bob')
    for (const token of [BOB, ours]) assert.equal((await start(token)).status, 201)
    world.withoutSecondFactor.add(bob)
    advanceClock(MINUTE)
    const refused = await request(BOB, '/repos/octo/tools')
    assert.equal(refused.status, 403)
    assert.match(refused.body.message, /^bob may not read repositories on the forge, which/)
    const { status, body } = await start(ours)
    assert.equal(status, 403)
    assert.match(body.message, /^bob may not read repositories on the forge, which requires a/)
    world.withoutSecondFactor.clear()
    advanceClock(MINUTE)
    for (const token of [BOB, ours]) assert.equal((await start(token)).status, 201)
  })

  test('end for all jobs and requests of a suspended account', async (t) => {
    const { db, bob, world, octo, host, request, start, work, advanceClock, forge } = await scene(
      t,
      engine,
    )
    assert.equal((await request(BOB, '/user')).status, 200)
    const exported = (await start(BOB)).body.id
    await work()
    for (const name of ['one', 'two', 'three']) {
      host.contents.set(`octo/${name}`, name)
      world.addRepository(octo, name).collaborators.set(bob, 'admin')
    }
    const repositories = ['octo/one', 'octo/two', 'octo/three']
    const order = { repositories, exclude_metadata: true }
    const started: number[] = []
    for (const payload of [order, { ...order, repositories: ['octo/tools'] }]) {
      const { status, body } = await request(BOB, '/user/migrations', payload)
      assert.equal(status, 201)
      started.push(body.id)
    }
    const ours = await addToken(db, (await findAccount(db, 'bob'))!, TOKEN)
    const archive = `/user/migrations/${exported}/archive`
    assert.equal((await request(ours, archive)).status, 302)
    host.segmentsMade.length = 0
    bob.isSuspended = true
    advanceClock(MINUTE)
    await work()
    for (const id of started) {
      const { state, reason } = await endOf(db, id)
      assert.deepEqual([state, reason], ['failed', 'bob is suspended on the forge'])
    }
    assert.deepEqual(host.segmentsMade, [])
    assert.equal((await request(BOB, '/user')).status, 403)
    // While the forge does not respond, its last response applies.
    for (const fault of [undefined, UNAVAILABLE]) {
      forge.faultFor = () => fault
      const clone = '/octo/tools/info/refs?service=git-upload-pack'
      for (const path of [archive, '/orgs/octo/migrations', clone]) {
        const { status, body } = await request(ours, path)
        assert.equal(status, 403, path)
        assert.match(body.message ?? body, /^bob is suspended on the forge\.$/m)
      }
      assert.equal((await start(ours)).status, 403)
      assert.equal((await start(ours, '/orgs/octo')).status, 403)
    }
    forge.faultFor = () => undefined
    bob.isSuspended = false
    advanceClock(MINUTE)
    assert.equal((await start(ours)).status, 201)
    assert.equal((await request(ours, archive)).status, 302)
  })

  testOnSqlite(
    'end with the suspension of an account that only has a token of Godwit',
    async (t) => {
      const { db, bob, start, ourToken } = await scene(t, engine)
      const ours = await ourToken('bob')
      assert.equal((await start(ours)).status, 201)
      bob.isSuspended = true
      const { status, body } = await start(ours)
      assert.deepEqual([status, body.message], [403, 'bob is suspended on the forge.'])
      // Anybody may have registered the login of a site admin on the forge.
      await upsertAccount(db, 'bob', { siteAdmin: true }, 0)
      assert.equal((await start(ours)).status, 201)
    },
  )

  testOnSqlite('end with an organization: its migration fails with the reason', async (t) => {
    const { db, world, octo, start, work, advanceClock, ourToken } = await scene(t, engine)
    const { id } = (await start(await ourToken('ann'), '/orgs/octo')).body
    world.delete(octo)
    advanceClock(MINUTE)
    await work()
    const { state, reason } = await endOf(db, id)
    assert.deepEqual([state, reason], ['failed', 'octo is no longer on the forge'])
  })

  for (const isSynced of [false, true])
    testOnSqlite(
      `of a new organization do not include a former one with the same login${isSynced ? ', after a sync' : ''}`,
      async (t) => {
        const { db, world, octo, scheduled, host, ...rest } = await scene(t, engine)
        const { start, work, sync, advanceClock, request, addForgeUser, ourToken } = rest
        const anns = await ourToken('ann')
        const { id, owner: former } = (await start(anns, '/orgs/octo')).body
        await work()
        await scheduled('ann', octo)
        const hook = { config: { url: 'https://hooks.host.test/' }, active: false }
        assert.equal((await request(anns, '/orgs/octo/hooks', hook)).status, 201)
        world.delete(octo)
        const mallory = addForgeUser('mallory')
        const other = world.addUser('octo', { isOrganization: true })
        world.addTeam(other, 'Owners', 'owner', [mallory.user])
        world.addRepository(other, 'tools').isPrivate = true
        host.contents.set('octo/tools', 'of the new organization')
        advanceClock(MINUTE)
        if (isSynced) await sync()
        for (const what of ['migrations', 'migrations/schedules', 'hooks'])
          assert.deepEqual((await request(mallory.token, `/orgs/octo/${what}`)).body, [], what)
        assert.equal(
          (await request(mallory.token, `/orgs/octo/migrations/${id}/archive`)).status,
          404,
        )
        const { status, body } = await start(mallory.token, '/orgs/octo')
        assert.equal(status, 201)
        assert.notEqual(body.owner.id, former.id)
        await work()
        assert.deepEqual(await outcomesByName(db, body.id), { 'octo/tools': 'exported' })
        // The former organization keeps its data under a login that nobody can register.
        assert.equal((await request(anns, '/orgs/octo/migrations')).status, 404)
        await upsertAccount(db, 'root', { siteAdmin: true }, 0)
        const formerPath = `/orgs/octo--${octo.id}`
        const roots = await ourToken('root')
        for (const what of ['migrations', 'migrations/schedules', 'hooks'])
          assert.equal((await request(roots, `${formerPath}/${what}`)).body.length, 1, what)
      },
    )

  for (const isSynced of [false, true])
    test(`of an organization stay when it is renamed${isSynced ? ', even if its new directory was seen first' : ''}`, async (t) => {
      const { db, world, octo, scheduled, host, ...rest } = await scene(t, engine)
      const { start, work, sync, advanceClock, request, ourToken } = rest
      const anns = await ourToken('ann')
      const { id, owner } = (await start(anns, '/orgs/octo')).body
      await work()
      await scheduled('ann', octo)
      const before = await findByName(db, [{ owner: 'octo', name: 'tools' }])
      world.rename(octo, 'octopus')
      host.contents.set('octopus/tools', host.contents.get('octo/tools')!)
      host.contents.delete('octo/tools')
      advanceClock(MINUTE)
      if (isSynced) {
        await ensureAccount(db, 'octopus', 0)
        const { found, missing } = await sync()
        assert.deepEqual([found, missing], [1, 0])
        const after = await findByName(db, [{ owner: 'octopus', name: 'tools' }])
        assert.deepEqual(
          after.map((each) => each.id),
          before.map((each) => each.id),
        )
      }
      const kept = await request(anns, '/orgs/octopus/migrations')
      assert.deepEqual(
        kept.body.map((each: { id: number }) => each.id),
        [id],
      )
      assert.equal((await request(anns, '/orgs/octopus/migrations/schedules')).body.length, 1)
      assert.equal((await request(anns, `/orgs/octopus/migrations/${id}/archive`)).status, 302)
      assert.equal((await request(anns, '/orgs/octo/migrations')).status, 404)
      assert.equal((await request(anns, '/orgs/octopus')).body.id, owner.id)
    })

  testOnSqlite(
    'of an organization are requested by its id, so a rename does not fail its jobs',
    async (t) => {
      const { db, world, octo, permissionsRefresher, advanceClock, start, ourToken } = await scene(
        t,
        engine,
      )
      await start(await ourToken('ann'), '/orgs/octo')
      const account = (await findAccount(db, 'octo'))!
      world.rename(octo, 'octopus')
      advanceClock(MINUTE)
      await permissionsRefresher.refresh(account, FRESH)
      assert.equal((await findAccount(db, 'octopus'))?.id, account.id)
      // Another organization has the login now.
      world.addUser('octo', { isOrganization: true })
      await permissionsRefresher.refresh(account, FRESH)
      world.delete(octo)
      await assert.rejects(
        permissionsRefresher.refresh((await findAccount(db, 'octopus'))!, FRESH),
        {
          name: 'AccountRemoved',
          message: 'octopus is no longer on the forge',
        },
      )
    },
  )

  testOnSqlite('must be known before a new token is accepted', async (t) => {
    const { db, forge, request, advanceClock } = await scene(t, engine)
    // Only requests on behalf of a person: the token itself is valid.
    const permissionsUnavailable: typeof forge.faultFor = ({ path, query }) =>
      path.endsWith('/user/repos') && query.has('sudo') ? UNAVAILABLE : undefined
    forge.faultFor = permissionsUnavailable
    for (let times = 1; times <= 2; times++) assert.equal((await request(BOB, '/user')).status, 503)
    assert.deepEqual(await db.selectFrom('tokens').select('id').execute(), [])
    forge.faultFor = () => undefined
    advanceClock(MINUTE)
    assert.equal((await request(BOB, '/user')).status, 200)
    // For an account that has signed in before, the last response of the forge applies.
    forge.faultFor = permissionsUnavailable
    advanceClock(MINUTE)
    assert.equal((await request(BOB, '/user')).status, 200)
  })
})
