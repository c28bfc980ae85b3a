import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../test/support/odd-repositories.ts'
import { createDatabase } from '../../test/support/postgres.ts'
import { assertFinding, doctor, sound } from '../commands/doctor/test-scene.ts'
import { connect } from '../db/connect.ts'
import { upgradeSchema } from '../db/upgrade.ts'
import { noteWorker, removeWorker } from '../queue/worker-store.ts'
import { markProcess } from './mark-process.ts'

test('processes that should share a data directory notice when they do not', async (t) => {
  const databaseUrl = await createDatabase()
  const { data, listen } = await sound(t)
  const database = await connect({ dataDirectory: data, databaseUrl })
  t.after(database.close)
  await upgradeSchema(database)
  const { db } = database
  const now = Date.now
  const told: unknown[] = []
  const log = { error: (fields: unknown) => told.push(fields), warn: assert.fail }
  const begin = async (folder: string, id: string) => {
    const places = { blobs: join(folder, 'blobs') }
    const marking = markProcess({ db, places, log, now, isOnlyProcess: false }, id)
    await marking.leave()
    const about = { host: `host-of-${id}`, pid: 7, role: 'worker', version: '1' } as const
    const work = { concurrency: 1, runningJobs: 0, freeBytes: null, scratchBytes: null }
    await noteWorker(db, { id, ...about, ...work, startedAt: now() - 60_000, seenAt: now() })
    return marking
  }
  const flags = { data, listen, databaseUrl }
  const here = await begin(data, 'here')
  const beside = await begin(data, 'beside')
  await here.lookForOthers()
  assert.deepEqual(told, [])
  assertFinding(await doctor(flags), 'shared data', 'passed', /is shared by all processes/)

  const elsewhere = await begin(temporaryDirectory(t), 'elsewhere')
  for (let n = 0; n < 3; n++) await here.lookForOthers()
  const stranger = { process: { role: 'worker', pid: 7, host: 'host-of-elsewhere' } }
  assert.deepEqual(told, [stranger], 'told once')
  await elsewhere.lookForOthers()
  assert.equal(told.length, 3, 'the other one misses both')
  const lost = /not shared with all processes.*: worker 7 at host-of-elsewhere$/
  assertFinding(await doctor(flags), 'shared data', 'error', lost)

  const bucket = await doctor(
    { ...flags, blobs: 's3://bucket' },
    { AWS_ENDPOINT_URL: 'http://127.0.0.1:1', AWS_REGION: 'x' },
  )
  assert.ok(!bucket.some(({ check }) => check === 'shared data'), 'a bucket is shared by itself')
  await removeWorker(db, 'beside')
  await beside.remove()
  await here.lookForOthers()
  assert.deepEqual(readdirSync(join(data, 'processes')), ['here'])
})

test('a mark that was left behind is swept', async (t) => {
  const data = temporaryDirectory(t)
  const database = await connect({ dataDirectory: data, databaseUrl: undefined })
  t.after(database.close)
  await upgradeSchema(database)
  const folder = join(data, 'processes')
  mkdirSync(folder)
  for (const name of ['old', 'new']) writeFileSync(join(folder, name), '')
  const twoDaysAgo = (Date.now() - 2 * 86_400_000) / 1000
  utimesSync(join(folder, 'old'), twoDaysAgo, twoDaysAgo)
  const places = { blobs: join(data, 'blobs') }
  const log = { error: assert.fail, warn: assert.fail }
  const parts = { db: database.db, places, log, now: Date.now, isOnlyProcess: false }
  await markProcess(parts, 'x').lookForOthers()
  assert.deepEqual(readdirSync(folder), ['new'])
})
