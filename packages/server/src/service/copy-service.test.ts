import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import type { CopyOrder } from '../../../../test/support/copy-test-process.ts'
import { databaseOptions, type Engine, onEachEngine } from '../../../../test/support/databases.ts'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { copyWithQueue } from '../../../../test/support/upgraded-databases.ts'
import { until, withTimeout } from '../../../../test/support/wait-until.ts'
import { createDiskBlobStore } from '../blobs/disk.ts'
import { COPIED_TABLES, OTHER_TABLES } from '../db/copy-tables.ts'
import type { Db } from '../db/database.ts'
import { embeddedQueue } from '../queue/embedded.ts'
import { type CopyRequest, copyService } from './copy-service.ts'
import { openDatabase } from './open-database.ts'

type Place = { data: string; databaseUrl?: string }

/** Returns the settings of a place without any data. */
async function emptyPlace(t: TestContext, engine: Engine): Promise<Place> {
  const { databaseUrl } = await databaseOptions(t, engine)
  const data = temporaryDirectory(t)
  return databaseUrl === undefined ? { data } : { data, databaseUrl }
}

const settingsOf = (place: Place) => ({
  ...{ databaseUrl: undefined, blobs: undefined, s3Endpoint: undefined },
  ...place,
})

const copyTo = (from: Place, to: Place, more: Partial<CopyRequest> = {}) =>
  copyService({
    from: settingsOf(from),
    database: settingsOf(to),
    blobs: settingsOf(to),
    isOnline: false,
    keepSource: false,
    isFull: false,
    signal: new AbortController().signal,
    onProgress() {},
    ...more,
  })

async function inDatabase<T>(place: Place, use: (db: Db) => Promise<T>): Promise<T> {
  const database = await openDatabase(settingsOf(place))
  try {
    return await use(database.db)
  } finally {
    await database.close()
  }
}

const SEGMENTS = 30
const bytesOf = (index: number) => Buffer.alloc(1000 + index, `${index}-`)
const keyOf = (index: number) => `${hash('sha256', String(index)).slice(0, 20)}-segment`

const migration = (number: number) => ({
  guid: `guid-${number}`,
  owner_id: 1,
  owner: '{}',
  options: '{"a":null}',
  state: 'pending',
  repository_count: 1,
  version: number,
  created_at: 1_700_000_000_000 + number,
  updated_at: 5,
  remaining: 1,
})

/** Makes a service with rows in related tables, blobs and jobs. The newest migration was deleted, so its number is used. */
async function makeService(t: TestContext, engine: Engine): Promise<Place> {
  const place = { ...(await emptyPlace(t, engine)) }
  if (engine === 'postgres') place.databaseUrl = await copyWithQueue()
  const blobs = createDiskBlobStore(join(place.data, 'blobs'))
  await inDatabase(place, async (db) => {
    const account = { type: 'User', site_admin: 0, created_at: 1 }
    const accounts = ['Zoë', 'zoe', 'ärger', 'abe'].map((login) => ({
      login,
      login_key: login,
      ...account,
    }))
    await db.insertInto('accounts').values(accounts).execute()
    await db.insertInto('secrets').values({ name: 'link-key', value: 'a"b\\c\n' }).execute()
    for (let id = 1; id <= 21; id++)
      await db.insertInto('migrations').values(migration(id)).execute()
    await db.deleteFrom('migrations').where('id', '=', 21).execute()
    for (let index = 0; index < SEGMENTS; index++) {
      const bytes = bytesOf(index)
      await blobs.put(keyOf(index), [bytes])
      const segment = { plain_length: 1, crc32: 4_294_967_295, created_at: 1, last_used_at: 1 }
      await db
        .insertInto('segments')
        .values({
          ...segment,
          key: keyOf(index),
          fingerprint: `print ${index}`,
          length: bytes.length,
          sha256: hash('sha256', bytes),
          checked_at: index,
        })
        .execute()
    }
    await enqueue(place, db)
  })
  return place
}

async function enqueue({ databaseUrl }: Place, db: Db): Promise<void> {
  const payloads = [{ position: 3, migrationId: 7 }, { migrationId: 8 }]
  if (databaseUrl === undefined) {
    await embeddedQueue({ db }).enqueue(db, 'seal-archive', payloads, 'migration 7')
    // A worker holds one of them.
    await db.updateTable('jobs').set({ lease: 'held', failures: 2 }).where('id', '=', 1).execute()
    return
  }
  const { createPgBossQueue } = await import('../queue/pg-boss.ts')
  const queue = createPgBossQueue({ databaseUrl, db, onError: assert.ifError })
  await queue.start()
  await queue.enqueue(db, 'seal-archive', payloads, 'migration 7')
  await queue.stop()
}

/** Returns the jobs that a worker of the copy gets. */
async function claimedJobs({ databaseUrl }: Place, db: Db): Promise<{ migrationId: number }[]> {
  const { createPgBossQueue } = await import('../queue/pg-boss.ts')
  const queue =
    databaseUrl === undefined
      ? { ...embeddedQueue({ db }), async start() {}, async stop() {} }
      : createPgBossQueue({ databaseUrl, db, onError: assert.ifError })
  await queue.start()
  const claimed: { migrationId: number }[] = []
  const { promise: both, resolve } = Promise.withResolvers<void>()
  const worker = queue.work(
    {
      'seal-archive': {
        async run({ payload }, { finish }) {
          await finish(async () => claimed.push(payload as { migrationId: number }))
          if (claimed.length === 2) resolve()
        },
        onGiveUp: async () => assert.fail('a job was given up'),
      },
    },
    { concurrency: 1, onError: assert.ifError },
  )
  await withTimeout('two jobs run', both)
  await worker.stop()
  assert.deepEqual(await queue.backlog(), [])
  await queue.stop()
  return claimed
}

/** Waits until PostgreSQL has noticed that a process was killed. Until then, its copy seems to be running. */
async function waitForUnlock(databaseUrl: string): Promise<void> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const locks = `select 1 from pg_locks join pg_database on pg_database.oid = database
    where locktype = 'advisory' and datname = current_database()`
  await until('no copy is running', async () => (await client.query(locks)).rows.length === 0)
  await client.end()
}

/** Returns a function that copies in another process and kills it. The next process loads its code while the last one copies. */
function copyKiller(t: TestContext, kills: number) {
  const module = new URL('../../../../test/support/copy-test-process.ts', import.meta.url)
  const start = () => fork(module, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  let next = start()
  let left = kills - 1
  t.after(() => next.kill('SIGKILL'))
  return async (order: CopyOrder) => {
    const child = next
    if (left-- > 0) next = start()
    const exited = once(child, 'exit')
    child.send(order)
    const ended = await withTimeout('the copy is killed', exited)
    await waitForUnlock(String(order.from.databaseUrl ?? order.to.databaseUrl))
    return ended
  }
}

/** The rounds that end with a kill, with the milliseconds after which it comes at the latest: two kills come at a step of the copy. */
const KILLS = new Map([
  [0, 60_000],
  [12, 120],
  // After the last kill, the source still says that it is being moved.
  [24, 60_000],
])

onEachEngine('a copy', (engine) => {
  const other = engine === 'sqlite' ? 'postgres' : 'sqlite'

  test('has a rule for every table', async (t) => {
    const place = await emptyPlace(t, engine)
    const tables = await inDatabase(place, (db) => db.introspection.getTables())
    const names = tables.map(({ name }) => name).filter((name) => name !== 'godwit_schema')
    assert.deepEqual(names.sort(), [...COPIED_TABLES, ...OTHER_TABLES].sort())
  })

  test('survives 25 interruptions, 3 of them kills, keeps numbers, and runs unfinished jobs once', async (t) => {
    const from = await makeService(t, engine)
    const to = await emptyPlace(t, other)
    const killCopy = copyKiller(t, KILLS.size)
    for (let round = 0; round < 25; round++) {
      const atStep = 1 + round * 3
      if (KILLS.has(round)) {
        const afterMs = KILLS.get(round)!
        assert.deepEqual(await killCopy({ from, to, atStep, afterMs }), [null, 'SIGKILL'])
      } else {
        let steps = 0
        const onProgress = () => {
          steps += 1
          if (steps === atStep) throw new Error('interrupted')
        }
        await assert.rejects(copyTo(from, to, { isFull: true, onProgress }), /interrupted/)
      }
    }
    await assert.rejects(openDatabase(settingsOf(to)), /unfinished copy/)
    await assert.rejects(openDatabase(settingsOf(from)), /is being moved to/)

    const report = await copyTo(from, to, { isFull: true })
    const { blobs, isMoved, unfinishedMigrations, tables } = report
    assert.deepEqual([blobs?.count, blobs?.damaged, isMoved], [SEGMENTS, [], true])
    assert.equal(unfinishedMigrations, 20)
    const rows = Object.fromEntries(tables.map((table) => [table.table, table.rows]))
    assert.deepEqual(
      [rows.accounts, rows.migrations, rows.segments, rows.stored_segments, rows.jobs],
      [4, 20, SEGMENTS, 1, 2],
    )
    await assert.rejects(openDatabase(settingsOf(from)), /was moved to/)
    const copied = createDiskBlobStore(join(to.data, 'blobs'))
    for (let index = 0; index < SEGMENTS; index++)
      assert.deepEqual(await (await copied.open(keyOf(index))).toArray(), [bytesOf(index)])
    await inDatabase(to, async (db) => {
      const { count } = await db.selectFrom('stored_segments').selectAll().executeTakeFirstOrThrow()
      assert.equal(count, SEGMENTS)
      // Number 21 was used by a migration that is deleted.
      const next = db.insertInto('migrations').values(migration(0)).returning('id')
      assert.equal((await next.executeTakeFirstOrThrow()).id, 22)
      const jobs = await claimedJobs(to, db)
      const sorted = jobs.sort((a, b) => a.migrationId - b.migrationId)
      assert.deepEqual(sorted, [{ position: 3, migrationId: 7 }, { migrationId: 8 }])
    })
  })

  test('is refused to a place with other data, which stays as it is', async (t) => {
    const [from, to, stranger] = [
      await makeService(t, engine),
      await emptyPlace(t, engine),
      await makeService(t, engine),
    ]
    await assert.rejects(copyTo(from, stranger), /is not empty, and not a.* copy of this service/)
    // Its archives are elsewhere, so only its database shows that it is in use.
    const withoutArchives = { ...stranger, data: temporaryDirectory(t) }
    if (engine === 'postgres') {
      await assert.rejects(copyTo(from, withoutArchives), /not an unused copy/)
      const store = createDiskBlobStore(join(withoutArchives.data, 'blobs'))
      assert.deepEqual(await Array.fromAsync(store.list()), [])
    }
    await createDiskBlobStore(join(to.data, 'blobs')).put('abc', [Buffer.from('x')])
    await assert.rejects(copyTo(from, to), /blobs is not empty, and not a copy of this service/)
    await assert.rejects(copyTo(from, from), /is the data directory of the source|already|running/)
    await inDatabase(stranger, async (db) => {
      const { length } = await db.selectFrom('migrations').select('id').execute()
      assert.equal(length, 20)
    })
    await inDatabase(from, async (db) =>
      assert.deepEqual(await db.selectFrom('copies').selectAll().execute(), []),
    )
  })
})

test('blobs that are damaged at the source are copied and reported, and damage at the target is found', async (t) => {
  const [from, to] = [await makeService(t, 'sqlite'), await emptyPlace(t, 'sqlite')]
  const fileOf = ({ data }: Place, index: number) =>
    join(data, 'blobs', keyOf(index).slice(0, 2), keyOf(index))
  await truncate(fileOf(from, 1), 10)
  await writeFile(fileOf(from, 2), bytesOf(2).fill(0))
  const first = await copyTo(from, to, { keepSource: true })
  assert.deepEqual(first.blobs?.damaged, [keyOf(1)])
  const full = await copyTo(from, to, { keepSource: true, isFull: true })
  assert.deepEqual(full.blobs?.damaged.sort(), [keyOf(1), keyOf(2)].sort())
  await writeFile(fileOf(to, 3), bytesOf(3).fill(0))
  const damaged = copyTo(from, to, { keepSource: true, isFull: true })
  await assert.rejects(damaged, new RegExp(`1 blob at the target differs .*${keyOf(3)}`))
  await assert.rejects(openDatabase(settingsOf(to)), /unfinished copy/)
})
