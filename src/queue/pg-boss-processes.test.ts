import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { databaseOptions } from '../../test/support/databases.ts'
import { connect, type Db } from '../db/connect.ts'
import { upgradeSchema } from '../db/upgrade.ts'
import { createPgBossQueue } from './pg-boss.ts'

/** Who waits for what never comes fails, rather than wait on. */
const bounded = { timeout: 60_000 }
const WORKER = new URL('./pg-boss-test-process.ts', import.meta.url)

async function scene(t: TestContext) {
  const options = await databaseOptions(t, 'postgres')
  const databaseUrl = options.databaseUrl!
  const database = connect(options)
  t.after(() => database.close())
  await upgradeSchema(database)
  const { db } = database
  const queue = createPgBossQueue({ databaseUrl, db, onTrouble: () => {} })
  t.after(queue.stop)
  await queue.start()
  return {
    db,
    databaseUrl,
    startWorker: (name: string) => startWorker(t, databaseUrl, name),
    enqueue: (...payloads: unknown[]) =>
      db.transaction().execute((tx) => queue.enqueue(tx, 'task', payloads, 'batch')),
  }
}

async function startWorker(t: TestContext, databaseUrl: string, name: string) {
  const child: ChildProcess = fork(WORKER, [databaseUrl, name])
  t.after(() => child.kill('SIGKILL'))
  const told = new EventEmitter()
  const log: string[] = []
  child.on('message', ({ what, payload }: { what: string; payload: unknown }) => {
    log.push(`${what} ${payload}`)
    told.emit('news')
  })
  /** Until the process has said all of this. */
  async function says(...what: string[]): Promise<void> {
    while (!what.every((line) => log.some((said) => said.startsWith(line)))) {
      await once(told, 'news')
    }
  }
  await says('ready')
  return { child, log, says, letFinish: () => child.send('finish') }
}

const silence = (db: Db) =>
  sql`update godwit_queue.job set heartbeat_on = now() - interval '1 hour'
    where state = 'active'`.execute(db)

const done = (db: Db) =>
  db.selectFrom('accounts').select(['login', 'type as by']).orderBy('id').execute()

async function untilDone(db: Db, count: number) {
  for (;;) {
    const rows = await done(db)
    if (rows.length >= count) return rows
    await sleep(10)
  }
}

test('two processes share 200 jobs, and each job is done once', bounded, async (t) => {
  const { db, startWorker, enqueue } = await scene(t)
  const workers = await Promise.all([startWorker('one'), startWorker('two')])
  await enqueue(...Array.from({ length: 200 }, (_, i) => i))
  for (const { says } of workers) await says('took')
  for (const { letFinish } of workers) letFinish()
  const rows = await untilDone(db, 200)
  assert.equal(new Set(rows.map(({ login }) => login)).size, 200)
  assert.deepEqual(new Set(rows.map(({ by }) => by)), new Set(['one', 'two']))
  const took = workers.flatMap(({ log }) => log.filter((line) => line.startsWith('took')))
  assert.equal(took.length, 200)
})

test('kill -9: another process takes the job over', bounded, async (t) => {
  const { db, startWorker, enqueue } = await scene(t)
  const killed = await startWorker('killed')
  await enqueue('job')
  await killed.says('took')
  killed.child.kill('SIGKILL')
  await once(killed.child, 'exit')
  const heir = await startWorker('heir')
  heir.letFinish()
  await silence(db)
  assert.deepEqual(await untilDone(db, 1), [{ login: 'job', by: 'heir' }])
})

test(
  'a process that was frozen for too long learns that it lost the job, and cannot write',
  bounded,
  async (t) => {
    const { db, startWorker, enqueue } = await scene(t)
    const frozen = await startWorker('frozen')
    await enqueue('job')
    await frozen.says('took')
    frozen.child.kill('SIGSTOP')
    const heir = await startWorker('heir')
    await silence(db)
    await heir.says('took')
    frozen.child.kill('SIGCONT')
    await frozen.says('lost')
    frozen.letFinish()
    await frozen.says('LostJob')
    assert.deepEqual(await done(db), [])
    heir.letFinish()
    assert.deepEqual(await untilDone(db, 1), [{ login: 'job', by: 'heir' }])
  },
)

test('all connections to PostgreSQL are cut, and the work goes on', bounded, async (t) => {
  const { db, databaseUrl, startWorker, enqueue } = await scene(t)
  const worker = await startWorker('worker')
  await enqueue('a', 'b', 'c')
  await worker.says('took a', 'took b')
  const admin = new pg.Client(databaseUrl)
  await admin.connect()
  t.after(() => admin.end())
  const others = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
  await admin.query(`select pg_terminate_backend(pid) ${others}`)
  worker.letFinish()
  await worker.says('done a', 'done b', 'done c')
  // Its listener, too, is back.
  for (;;) {
    const { rows } = await admin.query(`select 1 ${others} and query ilike 'listen %'`)
    if (rows.length > 0) break
    await sleep(20)
  }
  await enqueue('d')
  await worker.says('done d')
  assert.equal((await done(db)).length, 4)
  assert.equal(worker.child.exitCode, null)
})
