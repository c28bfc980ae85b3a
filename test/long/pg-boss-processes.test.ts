import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import type { Db } from '../../src/db/database.ts'
import { bounded, firstFallsSilent, NEVER, openQueue } from '../support/pg-boss-scene.ts'
import { until, withTimeout } from '../support/wait-until.ts'

const WORKER = new URL('../../src/queue/pg-boss-test-process.ts', import.meta.url)

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
  /** Waits until the process has printed all of these. */
  async function says(...what: string[]): Promise<void> {
    while (!what.every((line) => log.some((said) => said.startsWith(line)))) {
      const waited = () => `${name} says ${what.join(', ')}; it said ${log.join(', ')}`
      await withTimeout(waited, once(output, 'news'))
    }
  }
  await says('ready')
  return { child, log, says, letFinish: () => child.send('finish') }
}

const done = (db: Db) =>
  db.selectFrom('accounts').select(['login', 'type as by']).orderBy('id').execute()

const untilDone = (db: Db, count: number) =>
  until(`${count} jobs are done`, async () => {
    const rows = await done(db)
    return rows.length >= count && rows
  })

test('two processes share 200 jobs, and each job runs once', bounded, async (t) => {
  const { db, databaseUrl, enqueue } = await openQueue(t)
  const workers = await Promise.all([
    startWorker(t, databaseUrl, 'one'),
    startWorker(t, databaseUrl, 'two'),
  ])
  await enqueue(Array.from({ length: 200 }, (_, i) => i))
  for (const { says } of workers) await says('claimed')
  for (const { letFinish } of workers) letFinish()
  const rows = await untilDone(db, 200)
  assert.equal(new Set(rows.map(({ login }) => login)).size, 200)
  assert.deepEqual(new Set(rows.map(({ by }) => by)), new Set(['one', 'two']))
  const said = (what: string) => workers.flatMap(({ log }) => log).filter((l) => l.startsWith(what))
  await until('200 jobs are done', () => said('done').length === 200)
  assert.equal(said('claimed').length, 200)
})

test('another process takes over the job of a killed process', bounded, async (t) => {
  const { db, databaseUrl, enqueue } = await openQueue(t)
  const killed = await startWorker(t, databaseUrl, 'killed')
  await enqueue(['job'])
  await killed.says('claimed')
  killed.child.kill('SIGKILL')
  await once(killed.child, 'exit')
  const heir = await startWorker(t, databaseUrl, 'heir')
  heir.letFinish()
  await firstFallsSilent(db, () => heir.log.includes('claimed job'))
  assert.deepEqual(await untilDone(db, 1), [{ login: 'job', by: 'heir' }])
})

test(
  'a process that was suspended for too long loses its job and cannot write',
  bounded,
  async (t) => {
    const { db, databaseUrl, enqueue } = await openQueue(t)
    const frozen = await startWorker(t, databaseUrl, 'frozen')
    await enqueue(['job'])
    await frozen.says('claimed')
    frozen.child.kill('SIGSTOP')
    const heir = await startWorker(t, databaseUrl, 'heir')
    await firstFallsSilent(db, () => heir.log.includes('claimed job'))
    frozen.child.kill('SIGCONT')
    await frozen.says('lost')
    frozen.letFinish()
    await frozen.says('LeaseLost')
    assert.deepEqual(await done(db), [])
    heir.letFinish()
    assert.deepEqual(await untilDone(db, 1), [{ login: 'job', by: 'heir' }])
  },
)

test('work continues after all connections to PostgreSQL are cut', bounded, async (t) => {
  const { db, databaseUrl, enqueue } = await openQueue(t)
  // It looks for work only when it is notified.
  const worker = await startWorker(t, databaseUrl, 'worker', NEVER)
  await enqueue(['a', 'b', 'c'])
  await worker.says('claimed a', 'claimed b')
  const admin = new pg.Client(databaseUrl)
  await admin.connect()
  t.after(() => admin.end())
  const others = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
  await admin.query(`select pg_terminate_backend(pid) ${others}`)
  worker.letFinish()
  await worker.says('done a', 'done b', 'done c')
  // The first job may be found by polling after the cut, the second only by listening again.
  for (const job of ['d', 'e']) {
    await enqueue([job])
    await worker.says(`done ${job}`)
  }
  assert.equal((await done(db)).length, 5)
  assert.equal(worker.child.exitCode, null)
})
