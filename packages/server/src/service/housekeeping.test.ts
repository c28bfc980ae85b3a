import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { onEachEngine } from '../../../../test/support/databases.ts'
import { exportScene, SEGMENT_CHECK_AGE_MS } from '../../../../test/support/export-scene.ts'
import { withTimeout } from '../../../../test/support/wait-until.ts'
import { acquireLease } from '../db/lease-store.ts'
import { startHousekeeping } from './housekeeping.ts'

const YEAR_MS = 365 * 24 * 3_600_000

onEachEngine('housekeeping', (engine) => {
  test('a process that lost its lease stops reading stored data', async (t) => {
    const { db, dependencies, clock, start, work } = await exportScene(
      t,
      { 'alice/site': 'a' },
      engine,
    )
    await start(['alice/site'])
    await work()
    clock.now += 2 * SEGMENT_CHECK_AGE_MS
    t.mock.timers.enable({ apis: ['setInterval'] })
    const reading = Promise.withResolvers<AbortSignal>()
    const blobs = {
      ...dependencies.blobs,
      async open(_key: string, _range: unknown, { signal }: { signal: AbortSignal }) {
        reading.resolve(signal)
        return new Readable({ read() {}, signal })
      },
    }
    const settings = {
      ...{ segmentTtl: YEAR_MS, archiveTtl: YEAR_MS, lockTtl: YEAR_MS, auditRetention: YEAR_MS },
      ...{ migrationHistory: YEAR_MS, segmentCheckAge: SEGMENT_CHECK_AGE_MS },
      ...{ maxUnfinishedMigrations: 1, maxArchiveBytes: Number.MAX_SAFE_INTEGER },
    }
    const log = { debug() {}, info() {}, error() {} }
    const paths = { scratch: dependencies.scratch }
    const shared = {
      ...dependencies,
      blobs,
      paths,
      log,
      isOnlyProcess: false,
      isIndexRead: () => true,
    }
    const housekeeping = startHousekeeping(
      settings,
      shared as unknown as Parameters<typeof startHousekeeping>[1],
    )
    t.after(housekeeping.stop)
    const signal = await withTimeout('a segment is read', reading.promise)
    clock.now += 120_000
    const request = { name: 'checking stored data', ttlMs: 60_000, now: clock.now }
    assert.ok(await acquireLease(db, request))
    const aborted = once(signal, 'abort')
    t.mock.timers.tick(60_000)
    await withTimeout('the reading is aborted', aborted)
  })
})
