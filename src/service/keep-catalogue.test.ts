import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { onEachEngine, openDatabase } from '../../test/support/databases.ts'
import { gitHost } from '../../test/support/git-host.ts'
import { until } from '../../test/support/wait-until.ts'
import { acquireLease } from '../db/lease-store.ts'
import { listCatalogue } from '../repositories/repository-store.ts'
import { gitDirectory } from '../sources/directory/git-directory.ts'
import type { Source } from '../sources/source.ts'
import { keepCatalogue } from './keep-catalogue.ts'
import type { Log } from './log.ts'

const HOUR = 3_600_000

onEachEngine('the catalogue of several processes', (engine) => {
  /** Starts keepers of one catalogue, each with what a process of its own would have. */
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
      error: (said: unknown) => failures.push(said),
    } as unknown as Log['log']
    const source = gitDirectory({ root: host.root, git: host.godwitGit })
    const counted: Source = {
      ...source,
      list() {
        lists.count++
        return source.list()
      },
    }
    const clock = { ahead: 0 }
    function keep(isOnlyProcess: boolean, everyMs = HOUR) {
      const now = () => Date.now() + clock.ahead
      const parts = { db, source: counted, now, log, isOnlyProcess }
      const keeper = keepCatalogue(parts, everyMs)
      t.after(keeper.stop)
      return keeper
    }
    return { db, host, lists, failures, warnings, clock, keep }
  }

  test('one of them synchronizes, and all of them notice the end', async (t) => {
    const { db, lists, keep } = await scene(t)
    const keepers = [keep(false), keep(false), keep(false)]
    await until('all know of the catalogue', () => keepers.every(({ isRead }) => isRead()))
    assert.equal(lists.count, 1)
    assert.equal((await listCatalogue(db)).length, 1)
    const later = keep(false)
    await until('one that comes later knows it too', () => later.isRead())
    assert.equal(lists.count, 1)
  })

  test('a single process always synchronizes when it starts', async (t) => {
    const { lists, keep } = await scene(t)
    for (const expected of [1, 2]) {
      const keeper = keep(true)
      await until('it has been read', () => keeper.isRead())
      assert.equal(lists.count, expected)
      await keeper.stop()
    }
  })

  test('a damaged repository is logged once', async (t) => {
    const { host, lists, warnings, keep } = await scene(t)
    await host.write(host.path('alice/site'), 'HEAD', 'nonsense')
    keep(true, 10)
    await until('it has been looked at often', () => lists.count > 4)
    assert.equal(warnings.length, 1, warnings.join('\n'))
    assert.match(warnings[0]!, /^alice\/site cannot be read: /)
  })

  test('another process takes over when the synchronizing one has died', async (t) => {
    const { db, lists, clock, keep } = await scene(t)
    const request = { name: 'synchronizing the catalogue', ttlMs: 10_000, now: Date.now() }
    assert.ok(await acquireLease(db, request))
    const keeper = keep(false)
    clock.ahead = 15_000
    await until('another has read the catalogue', () => keeper.isRead())
    assert.equal(lists.count, 1)
  })

  test('a failed synchronization is retried', async (t) => {
    const { host, failures, clock, keep } = await scene(t)
    await rename(host.root, `${host.root}-away`)
    const first = keep(false)
    await until('the first has failed', () => failures.length > 0)
    await first.stop()
    await rename(`${host.root}-away`, host.root)
    const second = keep(false)
    clock.ahead = 15_000
    await until('the second has read it', () => second.isRead())
  })
})
