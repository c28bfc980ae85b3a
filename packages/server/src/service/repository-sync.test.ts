import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { gitHost } from '../../../../test/support/git-host.ts'
import { listIndex } from '../../../../test/support/list-index.ts'
import { until, withTimeout } from '../../../../test/support/wait-until.ts'
import { gitDirectory } from '../../../hosts/src/directory/git-directory.ts'
import type { Source } from '../../../hosts/src/source.ts'
import { ensureAccount } from '../accounts/account-store.ts'
import { addToken } from '../accounts/token-store.ts'
import { acquireLease, LeaseTaken } from '../db/lease-store.ts'
import { PermissionsUnavailable } from '../repositories/permissions-unavailable.ts'
import type { PermissionsRefresher } from '../repositories/refresh-permissions.ts'
import type { Log } from './log.ts'
import { startRepositorySync } from './repository-sync.ts'

const HOUR = 3_600_000

onEachEngine('the repository index of several processes', (engine, testOnSqlite) => {
  /** Returns a function that synchronizes one repository index, as each of several processes does. */
  async function scene(t: TestContext) {
    const { db } = await openDatabase(t, engine)
    const host = await gitHost()
    t.after(host.remove)
    await host.repository('alice/site', { files: { a: '1' } })
    const lists = { count: 0 }
    const failures: unknown[] = []
    const warnings: string[] = []
    const log = {
      info() {},
      warn: (_fields: unknown, message: string) => warnings.push(message),
      error: (fields: unknown) => failures.push(fields),
    } as unknown as Log['log']
    const source = gitDirectory({ root: host.root, git: host.godwitGit })
    const metadata: { before?: () => Promise<void>; signal?: AbortSignal | undefined } = {}
    const counted: Source = {
      ...source,
      list() {
        lists.count++
        return source.list()
      },
      async metadata(found, previous, signal) {
        metadata.signal = signal
        await metadata.before?.()
        return source.metadata(found, previous)
      },
    }
    // The time stands still, so that no lease expires on a slow machine.
    const startedAt = Date.now()
    const clock = { ahead: 0, now: () => startedAt + clock.ahead }
    function startSync(isOnlyProcess: boolean, everyMs = HOUR) {
      const dependencies = { db, source: counted, now: clock.now, log, isOnlyProcess }
      const sync = startRepositorySync(dependencies, everyMs)
      t.after(sync.stop)
      return sync
    }
    return { db, host, source, log, lists, failures, warnings, clock, metadata, startSync }
  }

  test('one of them synchronizes, and all of them notice the end', async (t) => {
    const { db, lists, startSync } = await scene(t)
    const syncs = [startSync(false), startSync(false), startSync(false)]
    await until('all processes know that the repository index is read', () =>
      syncs.every(({ isRead }) => isRead()),
    )
    assert.equal(lists.count, 1)
    assert.equal((await listIndex(db)).length, 1)
    const later = startSync(false)
    await until('a later process knows it too', () => later.isRead())
    assert.equal(lists.count, 1)
  })

  testOnSqlite('a single process always synchronizes when it starts', async (t) => {
    const { lists, startSync } = await scene(t)
    for (const expected of [1, 2]) {
      const sync = startSync(true)
      await until('the repository index is read', () => sync.isRead())
      assert.equal(lists.count, expected)
      await sync.stop()
    }
  })

  test('is read although the forge does not report the permissions of an account', async (t) => {
    const { db, source, log, clock, failures } = await scene(t)
    const refreshed: string[] = []
    const response = Promise.withResolvers<void>()
    const permissionsRefresher: PermissionsRefresher = {
      async refresh({ login }) {
        refreshed.push(login)
        if (login === 'bob') await response.promise
      },
    }
    for (const login of ['bob', 'carol'])
      await addToken(db, await ensureAccount(db, login, clock.now()), {
        ...{ name: '', expiresAt: null, now: clock.now() },
      })
    const dependencies = {
      db,
      source,
      permissionsRefresher,
      now: clock.now,
      log,
      isOnlyProcess: true,
    }
    const sync = startRepositorySync(dependencies, HOUR)
    t.after(sync.stop)
    await until('the permissions are requested', () => refreshed.length === 2)
    assert.ok(sync.isRead())
    response.reject(new PermissionsUnavailable(0, 'the forge does not respond'))
    await sync.stop()
    assert.deepEqual([refreshed, failures], [['bob', 'carol'], []])
  })

  testOnSqlite('a damaged repository is logged once', async (t) => {
    const { host, lists, warnings, startSync } = await scene(t)
    await host.write(host.path('alice/site'), 'HEAD', 'nonsense')
    startSync(true, 10)
    await until('the repository index is synchronized several times', () => lists.count > 4)
    assert.equal(warnings.length, 1, warnings.join('\n'))
    assert.match(warnings[0]!, /^alice\/site cannot be read: /)
  })

  test('another process takes over when the synchronizing one has died', async (t) => {
    const { db, lists, clock, startSync } = await scene(t)
    const request = { name: 'synchronizing repositories', ttlMs: 10_000, now: clock.now() }
    assert.ok(await acquireLease(db, request))
    const sync = startSync(false)
    clock.ahead = 15_000
    await until('the repository index is read', () => sync.isRead())
    assert.equal(lists.count, 1)
  })

  /** Lets another process take over a synchronization that waits for a repository, until `resume` is called. */
  async function takeOver(t: TestContext) {
    const { db, failures, clock, metadata, startSync } = await scene(t)
    t.mock.timers.enable({ apis: ['setInterval'] })
    const [begun, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    metadata.before = () => {
      begun.resolve()
      return resumed.promise
    }
    const sync = startSync(false)
    await withTimeout('a repository is read', begun.promise)
    clock.ahead = 15_000
    const request = { name: 'synchronizing repositories', ttlMs: 10_000, now: clock.now() }
    assert.ok(await acquireLease(db, request))
    async function assertNothingWritten() {
      await until('the synchronization fails', () => failures.length > 0)
      await sync.stop()
      assert.deepEqual(failures, [{ err: new LeaseTaken(request) }])
      assert.deepEqual(await listIndex(db), [])
    }
    return { metadata, resume: resumed.resolve, assertNothingWritten }
  }

  test('a process that lost its lease stops and writes nothing', async (t) => {
    const { metadata, resume, assertNothingWritten } = await takeOver(t)
    t.mock.timers.tick(10_000)
    await until('the renewal is refused', () => metadata.signal?.aborted)
    resume()
    await assertNothingWritten()
  })

  test('a process that lost its lease writes nothing before it notices', async (t) => {
    const { resume, assertNothingWritten } = await takeOver(t)
    resume()
    await assertNothingWritten()
  })

  testOnSqlite('a failed synchronization is retried', async (t) => {
    const { host, failures, clock, startSync } = await scene(t)
    await rename(host.root, `${host.root}-renamed`)
    const first = startSync(false)
    await until('the first process fails', () => failures.length > 0)
    await first.stop()
    await rename(`${host.root}-renamed`, host.root)
    const second = startSync(false)
    clock.ahead = 15_000
    await until('the second process reads the repository index', () => second.isRead())
  })
})
