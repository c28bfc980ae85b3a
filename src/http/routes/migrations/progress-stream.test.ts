import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { openDatabase } from '../../../../test/support/databases.ts'
import { until } from '../../../../test/support/wait-until.ts'
import { ensureAccount } from '../../../accounts/account-store.ts'
import { addToken } from '../../../accounts/token-store.ts'
import { insertMigration } from '../../../migrations/migration-store.ts'
import { ProgressStreams } from './progress-stream.ts'

const FAST = { readMs: 1, heartbeatMs: 5, permissionCheckMs: 1 }

/** Two migrations that somebody may follow. */
async function followed(t: TestContext) {
  const { db } = await openDatabase(t, 'sqlite')
  const owner = await ensureAccount(db, 'alice', 0)
  await addToken(db, owner, { name: '', expiresAt: null, now: 0 })
  const about = { owner, options: {} as never, repositories: [], organizations: null, now: 0 }
  const migrations = [
    await insertMigration(db, { guid: 'one', ...about }),
    await insertMigration(db, { guid: 'two', ...about }),
  ] as const
  const parts = { db, now: Date.now, log: pino({ enabled: false }) }
  return { db, parts, migrations, viewer: { account: owner, tokenId: 1 } }
}

/** An answer whose client has taken nothing of it yet. */
function untaken() {
  const to = new ServerResponse(new IncomingMessage(new Socket()))
  const seen = { beats: 0, errors: [] as string[] }
  to.on('error', ({ message }) => seen.errors.push(message))
  const write = to.write.bind(to)
  to.write = ((text: string) => {
    if (text === ':\n\n') seen.beats += 1
    return write(text)
  }) as typeof to.write
  return { to, seen }
}

test('nothing is written to a stream that has ended but is not read yet', async (t) => {
  const { db, parts, migrations, viewer } = await followed(t)
  const [ended, lasting] = migrations
  const failed = { state: 'failed', reason: 'why' }
  await db.updateTable('migrations').set(failed).where('id', '=', ended.id).execute()
  const streams = new ProgressStreams(parts, FAST)
  t.after(() => streams.stop())
  const [first, second] = [untaken(), untaken()]
  streams.listen(ended, viewer, first.to, 0)
  streams.listen(lasting, viewer, second.to, 0)
  await until('the first stream has ended', () => first.to.writableEnded)
  const { beats } = second.seen
  await until('the other one lives on', () => second.seen.beats > beats + 3)
  assert.deepEqual(first.seen.errors, [])
})

test('an error of a stream does not end the process', async (t) => {
  const { parts, migrations, viewer } = await followed(t)
  const streams = new ProgressStreams(parts)
  t.after(() => streams.stop())
  const to = new ServerResponse(new IncomingMessage(new Socket()))
  streams.listen(migrations[0], viewer, to, 0)
  assert.ok(to.emit('error', new Error('the client is gone')))
})

test('a slow database gets one query at a time', async (t) => {
  const { db, parts, migrations, viewer } = await followed(t)
  const answers = Promise.withResolvers<void>()
  t.after(() => answers.resolve())
  let asked = 0
  const slow = db.withPlugin({
    transformQuery({ node }) {
      asked += 1
      return node
    },
    async transformResult({ result }) {
      await answers.promise
      return result
    },
  })
  const streams = new ProgressStreams({ ...parts, db: slow }, FAST)
  t.after(() => streams.stop())
  const listeners = [untaken(), untaken(), untaken()]
  for (const { to } of listeners) streams.listen(migrations[0], viewer, to, 0)
  await until('time has passed', () => listeners[0]!.seen.beats > 5)
  assert.equal(asked, 2, 'for the progress, and who may read it')
})
