import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '../../../../../../test/support/databases.ts'
import {
  DEFAULT_MEDIA_TYPE,
  descriptionServer,
} from '../../../../../../test/support/description-server.ts'

test('readiness is degraded while only writes fail, and unavailable while reads fail too', async (t) => {
  const { db } = await openDatabase(t, 'sqlite')
  const fails = { data: false, blobs: false, ownStore: false, forge: false }
  const probe = (name: keyof typeof fails) => async () => {
    if (fails[name]) throw Object.assign(new Error(name), { code: 'ENOSPC' })
  }
  const blobs = { probe: probe('blobs') } as never
  const probes = { probeData: probe('data'), probeForge: probe('forge') }
  const probeStoreOwner = probe('ownStore')
  const dependencies = { db, blobs, probeStoreOwner, isIndexRead: () => true, ...probes }
  const readiness = async () => {
    // Successful probes are cached, so each check needs a new server.
    const app = descriptionServer(t, DEFAULT_MEDIA_TYPE, dependencies)
    const { statusCode, body } = await app.inject('/readyz')
    const metrics = (await app.inject('/metrics')).body
    const isUp = (name: string) =>
      new RegExp(`dependency_up\\{dependency="${name}"\\} (\\d)`).exec(metrics)?.[1]
    return [statusCode, JSON.parse(body), isUp('data'), isUp('forge')]
  }
  assert.deepEqual(await readiness(), [200, { status: 'ok' }, '1', '1'])
  fails.data = true
  assert.deepEqual(await readiness(), [
    200,
    { status: 'degraded', waiting_for: ['data'] },
    '0',
    '1',
  ])
  fails.forge = true
  const writes = { status: 'degraded', waiting_for: ['data', 'forge'] }
  assert.deepEqual(await readiness(), [200, writes, '0', '0'])
  const both = { status: 'unavailable', waiting_for: ['blobs', 'data', 'forge'] }
  for (const failure of ['blobs', 'ownStore'] as const) {
    fails[failure] = true
    assert.deepEqual(await readiness(), [503, both, '0', '0'])
    fails[failure] = false
  }
})
