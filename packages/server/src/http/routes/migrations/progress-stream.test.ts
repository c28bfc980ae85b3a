import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { openDatabase } from '../../../../../../test/support/databases.ts'
import { until } from '../../../../../../test/support/wait-until.ts'
import { ensureAccount } from '../../../accounts/account-store.ts'
import { addToken } from '../../../accounts/token-store.ts'
import { insertMigration } from '../../../migrations/migration-store.ts'
import { ProgressStreams } from './progress-stream.ts'

const FAST = { readMs: 1, heartbeatMs: 5, permissionCheckMs: 1 }

/** Inserts two migrations, and a token that may follow them. */
async function insertMigrations(t: TestContext) {
  const { db } = await openDatabase(t, 'sqlite')
  const owner = await ensureAccount(db, 'alice', 0)
  await addToken(db, owner, { name: '', expiresAt: null, now: 0 })
  const fields = { owner, options: {} as never, repositories: [], organizations: null, now: 0 }
  const migrations = [
    await insertMigration(db, { guid: 'one', ...fields }),
    await insertMigration(db, { guid: 'two', ...fields }),
  ] as const
  const dependencies = { db, now: Date.now, log: pino({ enabled: false }) }
  return { db, dependencies, migrations, viewer: { account: owner, tokenId: 1 } }
}

/** A response of which the client reads nothing. */
function unreadResponse() {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const observed = { heartbeats: 0, errors: [] as string[] }
  response.on('error', ({ message }) => observed.errors.push(message))
  const write = response.write.bind(response)
  response.write = ((text: string) => {
    if (text === ':\n\n') observed.heartbeats += 1
    return write(text)
  }) as typeof response.write
  return { response, observed }
}

test('nothing is written to a stream that has ended but was not read completely', async (t) => {
  const { db, dependencies, migrations, viewer } = await insertMigrations(t)
  const [ended, running] = migrations
  const failed = { state: 'failed', reason: 'why' }
  await db.updateTable('migrations').set(failed).where('id', '=', ended.id).execute()
  const streams = new ProgressStreams(dependencies, FAST)
  t.after(() => streams.stop())
  const [first, second] = [unreadResponse(), unreadResponse()]
  streams.listen(ended, viewer, first.response, 0)
  streams.listen(running, viewer, second.response, 0)
  await until('the first stream has ended', () => first.response.writableEnded)
  const { heartbeats } = second.observed
  await until('the second stream continues', () => second.observed.heartbeats > heartbeats + 3)
  assert.deepEqual(first.observed.errors, [])
})

test('an error of a stream does not end the process', async (t) => {
  const { dependencies, migrations, viewer } = await insertMigrations(t)
  const streams = new ProgressStreams(dependencies)
  t.after(() => streams.stop())
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  streams.listen(migrations[0], viewer, response, 0)
  assert.ok(response.emit('error', new Error('the client has disconnected')))
})

test('a slow database gets one query at a time', async (t) => {
  const { db, dependencies, migrations, viewer } = await insertMigrations(t)
  const results = Promise.withResolvers<void>()
  t.after(() => results.resolve())
  let queries = 0
  const slow = db.withPlugin({
    transformQuery({ node }) {
      queries += 1
      return node
    },
    async transformResult({ result }) {
      await results.promise
      return result
    },
  })
  const streams = new ProgressStreams({ ...dependencies, db: slow }, FAST)
  t.after(() => streams.stop())
  const listeners = [unreadResponse(), unreadResponse(), unreadResponse()]
  for (const { response } of listeners) streams.listen(migrations[0], viewer, response, 0)
  await until('time has passed', () => listeners[0]!.observed.heartbeats > 5)
  assert.equal(queries, 2, 'one for the progress and one for the permissions')
})
