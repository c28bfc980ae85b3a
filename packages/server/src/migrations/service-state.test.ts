import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type CompiledQuery, Kysely } from 'kysely'
import { databaseOptions, onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { exportScene } from '../../../../test/support/export-scene.ts'
import { repositoryMetadata } from '../../../../test/support/repository-metadata.ts'
import { until } from '../../../../test/support/wait-until.ts'
import { ensureAccount } from '../accounts/account-store.ts'
import type { Db } from '../db/database.ts'
import { sqliteDialect } from '../db/sqlite-dialect.ts'
import { upgradeSchema } from '../db/upgrade.ts'
import { embeddedQueue } from '../queue/embedded.ts'
import { recordHeartbeat, removeProcess } from '../queue/process-store.ts'
import { metadataOfUnreadable } from '../repositories/repository-metadata.ts'
import { putRepository } from '../repositories/repository-store.ts'
import { countArchives, deleteArchive } from './archive-store.ts'
import { changeState, migrationById } from './export-store.ts'
import { insertLocks, releaseLocks } from './lock-store.ts'
import { DEFAULT_OPTIONS, type MigrationOptions } from './migration.ts'
import { insertMigration } from './migration-store.ts'
import { deleteOldOutcomeCounts, outcomeCountsSince } from './outcome-counts.ts'
import { notExportedFrom, recordOutcome, recordReused } from './outcome-store.ts'
import { countSegments, insertSegment } from './segment-store.ts'
import { createStorageUseReader, readServiceState } from './service-state.ts'

const NO_DISK = { freeBytes: null, scratchBytes: null }
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOW = Date.UTC(2026, 10, 14, 9, 30, 20)

async function start(
  db: Db,
  login: string,
  repositories: number,
  options: Partial<MigrationOptions> = {},
): Promise<number> {
  const owner = await ensureAccount(db, login, 0)
  const { id } = await insertMigration(db, {
    guid: crypto.randomUUID(),
    owner,
    options: { ...DEFAULT_OPTIONS, ...options },
    repositories: Array.from({ length: repositories }, (_, n) =>
      repositoryMetadata({ id: n + 1, name: `r${n}`, owner }),
    ),
    organizations: null,
    now: NOW - HOUR,
  })
  return id
}

const exported = (bytes: number) => ({ segmentKey: 'k', reused: false, bytes, startedAt: 0 })

/** A migration that runs, one that failed, one that was exported and one that waits, at different times. */
async function scene(t: TestContext, engine: 'sqlite' | 'postgres') {
  const { db } = await openDatabase(t, engine)
  const runs = await start(db, 'alice', 4)
  const fails = await start(db, 'bob', 7)
  const ends = await start(db, 'carol', 0)
  const waits = await start(db, 'alice', 1)
  await changeState(db, runs, 'exporting', { now: NOW - MINUTE })
  const at = (migrationId: number, position: number) => ({ migrationId, position })
  await recordOutcome(db, at(runs, 0), exported(100), NOW - DAY)
  await recordOutcome(db, at(runs, 1), exported(7), NOW - 21_000)
  const unchanged = { ...exported(1000), reused: true }
  await recordReused(db, runs, new Map([[2, unchanged]]), NOW)
  await changeState(db, fails, 'exporting', { now: NOW })
  for (let n = 6; n >= 0; n--) {
    await recordOutcome(db, at(fails, n), { reason: `r${n} is broken` }, NOW - 5 * MINUTE)
  }
  await changeState(db, fails, 'failed', { now: NOW, reason: 'bob/r0: broken' })
  await changeState(db, ends, 'exporting', { now: NOW })
  const archive = { bytes: 5000, expiresAt: NOW + DAY, metadataKey: 'm', manifestKey: 'n' }
  await changeState(db, ends, 'exported', { now: NOW - 7 * DAY, archive })
  const dependencies = { db, queue: embeddedQueue({ db, now: () => NOW }), now: () => NOW }
  return { db, dependencies, runs, fails, ends, waits }
}

onEachEngine('the state of the service', (engine) => {
  test('lists running, waiting and failed migrations with reasons', async (t) => {
    const { db, dependencies, runs, fails, waits } = await scene(t, engine)
    await dependencies.queue.enqueue(db, 'task', [1, 2], 'batch')
    const state = await readServiceState(dependencies, 'hour')
    assert.deepEqual(state.migrations, {
      pending: 1,
      exporting: 1,
      exported: 1,
      failed: 1,
      cancelled: 0,
    })
    assert.deepEqual(
      state.running.map(({ id, owner }) => [id, owner.login]),
      [
        [runs, 'alice'],
        [waits, 'alice'],
      ],
    )
    const { repositories, bytesDone, startedAt } = state.running[0]!
    const ended = { exported: 3, reused: 1, incomplete: 0, skipped: 0, failed: 0 }
    const counts = { total: 4, ...ended, remaining: 1 }
    assert.deepEqual([repositories, bytesDone, startedAt], [counts, 1107, NOW - MINUTE])
    const [waiting, ...more] = state.backlog
    assert.deepEqual([{ ...waiting }, more], [{ kind: 'task', jobs: 2, oldest: NOW }, []])
    const partial = await start(db, 'dora', 2, { allowPartial: true })
    await changeState(db, partial, 'exporting', { now: NOW })
    await recordOutcome(db, { migrationId: partial, position: 1 }, { reason: 'gone' }, NOW)
    await changeState(db, partial, 'exported', { now: NOW + 1 })
    await changeState(db, waits, 'failed', { now: NOW + 2, reason: 'cancelled' })
    const { failed, cancelled } = (await readServiceState(dependencies, 'hour')).migrations
    assert.deepEqual([failed, cancelled], [1, 1])
    const [lacking, ...older] = (await readServiceState(dependencies, 'hour')).failures
    assert.deepEqual(
      [lacking?.migration.id, lacking?.migration.state, lacking?.notExported],
      [partial, 'exported', [{ fullName: 'dora/r1', reason: 'gone' }]],
    )
    assert.deepEqual(
      older.map(({ migration }) => migration.id),
      [fails],
    )
    const [failure, ...others] = state.failures
    assert.deepEqual(others, [])
    assert.deepEqual([failure?.migration.id, failure?.migration.owner.login], [fails, 'bob'])
    assert.equal(failure?.migration.reason, 'bob/r0: broken')
    assert.deepEqual(
      failure.notExported,
      [0, 1, 2, 3, 4].map((n) => ({ fullName: `bob/r${n}`, reason: `r${n} is broken` })),
    )
  })

  test('counts the throughput in every bucket of the period', async (t) => {
    const { db, dependencies } = await scene(t, engine)
    const { buckets: minutes } = (await readServiceState(dependencies, 'hour')).throughput
    assert.equal(minutes.length, 60)
    assert.equal(minutes.at(-1)?.startedAt, Date.UTC(2026, 10, 14, 9, 30))
    assert.deepEqual(minutes.at(-1)?.count, {
      'repositories exported': 0,
      'repositories reused': 1,
      'repositories skipped': 0,
      'repositories failed': 0,
      'migrations exported': 0,
      'migrations failed': 1,
      'migrations cancelled': 0,
    })
    assert.equal(minutes.at(-1)?.bytes['repositories reused'], 1000)
    assert.equal(minutes.at(-2)?.bytes['repositories exported'], 7)
    assert.equal(minutes.at(-6)?.count['repositories failed'], 7)

    const { bucketMs, buckets: quarters } = (await readServiceState(dependencies, 'day')).throughput
    assert.deepEqual([bucketMs, quarters.length], [15 * MINUTE, 96])
    assert.equal(quarters.at(-1)?.bytes['repositories reused'], 1000)
    assert.equal(quarters.at(-2)?.count['repositories failed'], 7)
    const sum = (of: typeof quarters) =>
      of.reduce((total, { bytes }) => total + bytes['repositories exported'], 0)
    assert.equal(sum(quarters), 7, 'that of this time yesterday has just left')
    const { buckets: week } = (await readServiceState(dependencies, 'week')).throughput
    assert.deepEqual([week.length, sum(week)], [84, 107])

    await deleteOldOutcomeCounts(db, NOW + DAY + MINUTE)
    const kept = await outcomeCountsSince(db, 0, MINUTE)
    assert.ok(!kept.some(({ name }) => name === 'migrations exported'), 'eight days are over')
    assert.ok(kept.some(({ bytes }) => bytes === 100))
  })

  test('shows held locks and stored archives', async (t) => {
    const { db, dependencies, runs } = await scene(t, engine)
    const { id: ownerId } = await ensureAccount(db, 'alice', 0)
    for (const name of ['a', 'b', 'c']) {
      const update = {
        ownerId,
        name,
        changeToken: '',
        metadata: metadataOfUnreadable(0),
        problem: null,
      }
      await db.transaction().execute((tx) => putRepository(tx, update, 0))
    }
    await insertLocks(db, runs, [1, 2], { lockedAt: 1, expiresAt: 9 })
    await insertLocks(db, runs, [3], { lockedAt: 2, expiresAt: 9 })
    await releaseLocks(db, runs, 5, 1)
    const { locks } = await readServiceState(dependencies, 'hour')
    assert.equal(locks.held, 2)
    assert.deepEqual(
      locks.newest.map(({ name, holder }) => [name, holder]),
      [
        ['c', 'alice'],
        ['b', 'alice'],
      ],
    )
    const stored = async () => ({ ...(await countSegments(db)) })
    assert.deepEqual(await stored(), { count: 0, bytes: 0 })
    const segment = { plainLength: 0, crc32: 0, storedCrc32: 0, sha256: '' }
    await insertSegment(db, { key: 'x', length: 5_000_000_000, ...segment }, NOW)
    await insertSegment(db, { key: 'y', length: 1, ...segment }, NOW)
    assert.deepEqual(await stored(), { count: 2, bytes: 5_000_000_001 })
    await db.deleteFrom('segments').where('key', '=', 'x').execute()
    assert.deepEqual(await stored(), { count: 1, bytes: 1 })
    const details = { contents: '', verified: '', warning: null }
    const shared = { fingerprint: 'f', repositoryId: 1, ...details, ...segment }
    await insertSegment(db, { key: 'z', length: 30, ...shared }, NOW)
    await insertSegment(db, { key: 'w', length: 30, ...shared }, NOW)
    assert.deepEqual(
      await stored(),
      { count: 2, bytes: 31 },
      'known already, it is not stored again',
    )
    assert.deepEqual(await countArchives(db), { count: 1, composedBytes: 0 })
  })

  test('lists live and dead processes, and deletes old ones', async (t) => {
    const { db } = await openDatabase(t, engine)
    let now = NOW
    const dependencies = { db, queue: embeddedQueue({ db }), now: () => now }
    const about = { host: 'box', pid: 7, role: 'worker' as const, version: '1', concurrency: 2 }
    const beat = (id: string, runningJobs = 0) =>
      recordHeartbeat(db, { id, ...about, runningJobs, startedAt: NOW, seenAt: now, ...NO_DISK })
    const seen = async () => {
      const { workers } = await readServiceState(dependencies, 'hour')
      return workers.map(({ id, isAlive, runningJobs }) => [id, isAlive, runningJobs])
    }
    await beat('a')
    await beat('b')
    await beat('c')
    await removeProcess(db, 'c')
    now += 30_000
    await beat('b', 2)
    assert.deepEqual(await seen(), [
      ['a', true, 0],
      ['b', true, 2],
    ])
    now += 10_000
    assert.deepEqual(await seen(), [
      ['a', false, 0],
      ['b', true, 2],
    ])
    now += HOUR
    await beat('b')
    assert.deepEqual(await seen(), [['b', true, 0]])
  })
})

test('no query scans a whole table', async (t) => {
  const { dataDirectory } = await databaseOptions(t, 'sqlite')
  const queries: CompiledQuery[] = []
  const db: Db = new Kysely({
    dialect: sqliteDialect(join(dataDirectory, 'godwit.sqlite')),
    log: ({ query }) => void queries.push(query),
  })
  t.after(() => db.destroy())
  await upgradeSchema({ db, engine: 'sqlite', close: async () => {} })
  queries.length = 0
  await readServiceState({ db, queue: embeddedQueue({ db }), now: () => NOW }, 'week')
  await notExportedFrom(db, { id: 1 }, 1)
  await countArchives(db)
  await countSegments(db)
  const reads = queries.filter(({ sql }) => sql.startsWith('select'))
  assert.ok(reads.length > 8)
  for (const query of reads) {
    const explained = { ...query, sql: `explain query plan ${query.sql}` }
    const { rows } = await db.executeQuery<{ detail: string }>(explained)
    const scans = rows.map(({ detail }) => detail).filter((detail) => WHOLE_TABLE.test(detail))
    assert.deepEqual(scans, [], query.sql)
  }
})

/** Matches scans of tables that only grow. Scans of an index are allowed. */
const WHOLE_TABLE =
  /^SCAN (migrations|repository_exports|repository_lists|repository_metadata|segments|outcome_counts_by_minute)(?! USING)/

async function bytesInStore(blobs: Awaited<ReturnType<typeof exportScene>>['blobs']) {
  let bytes = 0
  for await (const { key } of blobs.list()) bytes += await blobs.size(key)
  return bytes
}

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`storage use counts a shared segment once: ${engine}`, async (t) => {
    const scene = await exportScene(t, { 'alice/site': 'x'.repeat(5000) }, engine)
    const { db, blobs, dependencies, clock, start, work } = scene
    const use = createStorageUseReader(dependencies)
    const [first, second] = [await start(['alice/site']), await start(['alice/site'])]
    await work()
    const held = await bytesInStore(blobs)
    assert.deepEqual(await use(), { segments: 5, archives: 2, archiveBytes: held, reuseBytes: 0 })

    for (const id of [first, second]) {
      const { owner } = await migrationById(db, id)
      await deleteArchive(dependencies, { owner }, id)
    }
    clock.now += 120_000
    const left = await until('the bytes of both archives are deleted', async () => {
      const bytes = await bytesInStore(blobs)
      return bytes < held && bytes === (await use()).reuseBytes && bytes
    })
    assert.deepEqual(await use(), { segments: 1, archives: 0, archiveBytes: 0, reuseBytes: left })
  })
}
