import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import type { Db } from '../../packages/server/src/db/database.ts'
import { expireFirstHeartbeats, NEVER, openQueue, timeLimit } from '../support/pg-boss-scene.ts'
import { until, withTimeout } from '../support/wait-until.ts'

const WORKER = new URL('../support/pg-boss-process.ts', import.meta.url)

async function startWorker(
  t: TestContext,
  databaseUrl: string,
  name: string,
  pollIntervalMs = 1000,
) {
  const child: ChildProcess = fork(WORKER, [databaseUrl, name, String(pollIntervalMs)])
  t.after(() => child.kill('SIGKILL'))
  const output = new EventEmitter()
  const log: string[] = []
  child.on('message', ({ what, payload }: { what: string; payload: unknown }) => {
    log.push(`${what} ${payload}`)
    output.emit('news')
  })
  /** Waits until the process has reported all of these. */
  async function untilReported(...what: string[]): Promise<void> {
    while (!what.every((line) => log.some((entry) => entry.startsWith(line)))) {
      const describe = () => `${name} reports ${what.join(', ')}; so far ${log.join(', ')}`
      await withTimeout(describe, once(output, 'news'))
    }
  }
  await untilReported('ready')
  return { child, log, untilReported, letFinish: () => child.send('finish') }
}

const finishedJobs = (db: Db) =>
  db.selectFrom('accounts').select(['login', 'type as by']).orderBy('id').execute()

const untilDone = (db: Db, count: number) =>
  until(`${count} jobs are done`, async () => {
    const rows = await finishedJobs(db)
    return rows.length >= count && rows
  })

test('two processes share 200 jobs, and each job runs once', timeLimit, async (t) => {
  const { db, databaseUrl, enqueue } = await openQueue(t)
  const workers = await Promise.all([
    startWorker(t, databaseUrl, 'one'),
    startWorker(t, databaseUrl, 'two'),
  ])
  await enqueue(Array.from({ length: 200 }, (_, i) => i))
  for (const { untilReported } of workers) await untilReported('claimed')
  for (const { letFinish } of workers) letFinish()
  const rows = await untilDone(db, 200)
  assert.equal(new Set(rows.map(({ login }) => login)).size, 200)
  assert.deepEqual(new Set(rows.map(({ by }) => by)), new Set(['one', 'two']))
  const reports = (what: string) =>
    workers.flatMap(({ log }) => log).filter((l) => l.startsWith(what))
  await until('200 jobs are done', () => reports('done').length === 200)
  assert.equal(reports('claimed').length, 200)
})

test('another process takes over the job of a killed process', timeLimit, async (t) => {
  const { db, databaseUrl, enqueue } = await openQueue(t)
  const killed = await startWorker(t, databaseUrl, 'killed')
  await enqueue(['job'])
  await killed.untilReported('claimed')
  killed.child.kill('SIGKILL')
  await once(killed.child, 'exit')
  const heir = await startWorker(t, databaseUrl, 'heir')
  heir.letFinish()
  await expireFirstHeartbeats(db, () => heir.log.includes('claimed job'))
  assert.deepEqual(await untilDone(db, 1), [{ login: 'job', by: 'heir' }])
})

test(
  'a process that was suspended for too long loses its job and cannot write',
  timeLimit,
  async (t) => {
    const { db, databaseUrl, enqueue } = await openQueue(t)
    const frozen = await startWorker(t, databaseUrl, 'frozen')
    await enqueue(['job'])
    await frozen.untilReported('claimed')
    frozen.child.kill('SIGSTOP')
    const heir = await startWorker(t, databaseUrl, 'heir')
    await expireFirstHeartbeats(db, () => heir.log.includes('claimed job'))
    frozen.child.kill('SIGCONT')
    await frozen.untilReported('lost')
    frozen.letFinish()
    await frozen.untilReported('LeaseLost')
    assert.deepEqual(await finishedJobs(db), [])
    heir.letFinish()
    assert.deepEqual(await untilDone(db, 1), [{ login: 'job', by: 'heir' }])
  },
)

test('work continues after all connections to PostgreSQL are cut', timeLimit, async (t) => {
  const { db, databaseUrl, enqueue } = await openQueue(t)
  // It looks for work only when it is notified.
  const worker = await startWorker(t, databaseUrl, 'worker', NEVER)
  await enqueue(['a', 'b', 'c'])
  await worker.untilReported('claimed a', 'claimed b')
  const admin = new pg.Client(databaseUrl)
  await admin.connect()
  t.after(() => admin.end())
  const others = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
  await admin.query(`select pg_terminate_backend(pid) ${others}`)
  worker.letFinish()
  await worker.untilReported('done a', 'done b', 'done c')
  // The first job may be found by polling after the cut, the second only by listening again.
  for (const job of ['d', 'e']) {
    await enqueue([job])
    await worker.untilReported(`done ${job}`)
  }
  assert.equal((await finishedJobs(db)).length, 5)
  assert.equal(worker.child.exitCode, null)
})
