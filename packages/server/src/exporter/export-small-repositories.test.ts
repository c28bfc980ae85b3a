import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine } from '../../../../test/support/databases.ts'
import {
  assertExported,
  exportScene,
  outcomesByName,
} from '../../../../test/support/export-scene.ts'
import { Unreadable } from '../../../git/src/unreadable.ts'
import {
  BEGIN_EXPORT,
  EXPORT_REPOSITORY,
  EXPORT_SMALL_REPOSITORIES,
} from '../migrations/migration.ts'
import { exportHandlers } from './export-migration.ts'

const NAMES = Array.from({ length: 80 }, (_, index) => `alice/r${index}`)
const REPOSITORIES = Object.fromEntries(NAMES.map((name) => [name, 'one']))

onEachEngine('many small repositories', (engine, testOnSqlite) => {
  test('share jobs; those that cannot be exported so get their own', async (t) => {
    const { db, host, queue, start, work, keysInStore } = await exportScene(t, REPOSITORIES, engine)
    const [first] = NAMES
    await start([first!])
    await work()
    // The repository index says that it has changed since.
    await db.updateTable('repositories').set({ synced_at: Number.MAX_SAFE_INTEGER }).execute()
    const kept = (await keysInStore()).length
    const id = await start(NAMES, { allowPartial: true })
    const kinds = new Set<string>()
    const failing = new Set(['alice/r5'])
    host.segmentsMade.length = 0
    host.onRead = async (fullName) => {
      for (const { kind } of await queue.backlog()) kinds.add(kind)
      if (fullName === 'alice/r3') throw new Unreadable('alice/r3: HEAD is missing')
      if (failing.delete(fullName)) throw new Error('EMFILE')
    }
    await work()
    await assertExported(db, id)
    assert.deepEqual(await outcomesByName(db, id), {
      ...Object.fromEntries(NAMES.map((name) => [name, 'exported'])),
      [first!]: 'reused',
      'alice/r3': 'skipped: HEAD is missing',
    })
    assert.deepEqual(kinds, new Set([EXPORT_SMALL_REPOSITORIES, EXPORT_REPOSITORY]))
    const again = [first!, 'alice/r3', 'alice/r5']
    assert.deepEqual(host.segmentsMade.toSorted(), [...NAMES, ...again].toSorted())
    assert.equal((await keysInStore()).length, kept + 78 + 2, 'segments, metadata, manifest')
  })

  testOnSqlite('get jobs of their own after a failure', async (t) => {
    const { db, host, queue, dependencies, start } = await exportScene(t, REPOSITORIES, engine)
    const payload = { migrationId: await start(NAMES), positions: [7, 9] }
    const { run } = exportHandlers(dependencies)[EXPORT_SMALL_REPOSITORIES]!
    const { signal } = new AbortController()
    await run(
      { id: '', kind: EXPORT_SMALL_REPOSITORIES, payload, failures: 1 },
      { signal, finish: (write) => db.transaction().execute(write) },
    )
    assert.deepEqual(host.segmentsMade, [])
    const backlog = (await queue.backlog()).map(({ kind, jobs }) => [kind, jobs])
    assert.deepEqual(Object.fromEntries(backlog), { [BEGIN_EXPORT]: 1, [EXPORT_REPOSITORY]: 2 })
  })
})
