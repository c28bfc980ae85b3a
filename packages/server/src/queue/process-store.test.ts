import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import {
  DEAD_AFTER_MS,
  recordHeartbeat,
  smallestFreeBytes,
  totalScratchBytes,
} from './process-store.ts'

const NOW = 1_700_000_000_000
const about = { host: 'box', pid: 7, version: '1', concurrency: 2, runningJobs: 0, startedAt: NOW }

onEachEngine('free space', (engine) => {
  test('is the smallest that any live worker reports', async (t) => {
    const { db } = await openDatabase(t, engine)
    const beat = (id: string, role: 'api' | 'worker', freeBytes: number | null, seenAt = NOW) =>
      recordHeartbeat(db, { id, role, ...about, seenAt, freeBytes, scratchBytes: 2 })
    assert.equal(await smallestFreeBytes(db, NOW), null, 'no process has reported')
    await beat('a', 'api', null)
    assert.equal(await smallestFreeBytes(db, NOW), null, 'an API process has no store')
    await beat('b', 'worker', 9_000_000_000_000)
    await beat('c', 'worker', 8_000_000_000_000)
    await beat('d', 'worker', 7, NOW - DEAD_AFTER_MS)
    assert.equal(await smallestFreeBytes(db, NOW), 8_000_000_000_000, 'dead workers do not count')
    assert.equal(await totalScratchBytes(db, NOW), 6)
    assert.equal(await smallestFreeBytes(db, NOW + DEAD_AFTER_MS), null, 'every worker is dead')
  })
})
