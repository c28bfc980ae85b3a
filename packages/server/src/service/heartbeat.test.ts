import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { assertFinding, doctor, validSettings } from '../../../../test/support/doctor-scene.ts'
import { createDatabase } from '../../../../test/support/postgres.ts'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { connect } from '../db/connect.ts'
import { upgradeSchema } from '../db/upgrade.ts'
import { type ProcessRecord, recordHeartbeat, removeProcess } from '../queue/process-store.ts'
import { createProcessMarker } from './heartbeat.ts'

test('processes that should share a data directory report when they do not', async (t) => {
  const databaseUrl = await createDatabase()
  const { data, listen } = await validSettings(t)
  const database = await connect({ dataDirectory: data, databaseUrl })
  t.after(database.close)
  await upgradeSchema(database)
  const { db } = database
  const reported: unknown[] = []
  const log = { error: (fields: unknown) => reported.push(fields), warn: assert.fail }
  let time = 0
  const elapsed = () => time
  const begin = async (folder: string, id: string) => {
    const paths = { blobs: join(folder, 'blobs') }
    const marker = createProcessMarker({ db, paths, log, isOnlyProcess: false, elapsed }, id)
    const beat = async () => {
      await marker.renew()
      await recordHeartbeat(db, rowOf(id))
      await marker.reportUnshared()
    }
    await beat()
    return { ...marker, beat }
  }
  const flags = { data, listen, databaseUrl }
  const here = await begin(data, 'here')
  const beside = await begin(data, 'beside')
  await here.reportUnshared()
  assert.deepEqual(reported, [])
  assertFinding(await doctor(flags), 'shared data', 'passed', /is shared by all running processes/)

  const elsewhere = await begin(temporaryDirectory(t), 'elsewhere')
  await here.reportUnshared()
  assert.deepEqual(reported, [], 'its marker may become visible later')
  time += 30_000
  for (let n = 0; n < 3; n++) await here.reportUnshared()
  assert.deepEqual(reported, [], 'it may have ended meanwhile')
  for (let n = 0; n < 3; n++) {
    await recordHeartbeat(db, rowOf('elsewhere'))
    await here.reportUnshared()
  }
  const other = { process: { role: 'worker', pid: 7, host: 'host-of-elsewhere' } }
  assert.deepEqual(reported, [other], 'reported once')
  for (const each of [here, beside, elsewhere]) await each.beat()
  assert.equal(reported.length, 3, 'elsewhere reports the two others')
  const lost = /not shared by all processes.*: worker 7 at host-of-elsewhere$/
  assertFinding(await doctor(flags), 'shared data', 'error', lost)

  const bucket = await doctor(
    { ...flags, blobs: 's3://bucket' },
    { AWS_ENDPOINT_URL: 'http://127.0.0.1:1', AWS_REGION: 'x' },
  )
  assert.ok(!bucket.some(({ check }) => check === 'shared data'), 'a bucket is always shared')
  await removeProcess(db, 'beside')
  await beside.remove()
  await here.reportUnshared()
  assert.deepEqual(readdirSync(join(data, 'processes')), ['here'])
})

test('a jump of the system clock neither reports a process nor removes a marker', async (t) => {
  const { db, dependencies, folder, log, pass } = await markerScene(t)
  const [here, other] = ['here', 'other'].map((id) => createProcessMarker(dependencies, id))
  await here!.renew()
  await other!.renew()
  // The process `dead` crashed: it has a row, but its marker was removed.
  for (const seenAt of [Date.now(), Date.now() + 86_400_000, Date.now() - 86_400_000]) {
    for (const id of ['other', 'dead'])
      await recordHeartbeat(db, {
        ...rowOf(id),
        startedAt: 0,
        seenAt: id === 'dead' ? 1e15 : seenAt,
      })
    // The system clock is two days ahead, so that every marker seems old.
    utimesSync(join(folder, 'other'), seenAt / 1000 - 2 * 86_400, seenAt / 1000 - 2 * 86_400)
    await here!.reportUnshared()
    pass(40_000)
  }
  assert.deepEqual(log.reported, [])
  assert.deepEqual(readdirSync(folder).sort(), ['here', 'other'])
})

test('the marker of a crashed process is removed', async (t) => {
  const { dependencies, folder, pass } = await markerScene(t)
  const marker = createProcessMarker(dependencies, 'x')
  for (const name of ['old', 'new']) writeFileSync(join(folder, name), '')
  await marker.reportUnshared()
  pass(3_600_000)
  utimesSync(join(folder, 'new'), 1, 1)
  await marker.reportUnshared()
  pass(3_600_000)
  await marker.reportUnshared()
  assert.deepEqual(readdirSync(folder), ['new'])
})

async function markerScene(t: TestContext) {
  const data = temporaryDirectory(t)
  const database = await connect({ dataDirectory: data, databaseUrl: undefined })
  t.after(database.close)
  await upgradeSchema(database)
  const folder = join(data, 'processes')
  mkdirSync(folder)
  const reported: unknown[] = []
  let time = 0
  const log = { reported, error: (fields: unknown) => reported.push(fields), warn: assert.fail }
  const paths = { blobs: join(data, 'blobs') }
  const { db } = database
  const dependencies = { db, paths, log, isOnlyProcess: false, elapsed: () => time }
  const pass = (ms: number) => {
    time += ms
  }
  return { db, dependencies, folder, log, pass }
}

let beats = 0

/** Returns a row that differs with every call, like the row of a live process. */
function rowOf(id: string): ProcessRecord {
  const about = { id, host: `host-of-${id}`, pid: 7, role: 'worker', version: '1' } as const
  const work = { concurrency: 1, runningJobs: 0, freeBytes: null, scratchBytes: null }
  beats += 1
  return { ...about, ...work, startedAt: Date.now() - 60_000, seenAt: Date.now() + beats }
}
