import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { onEachEngine } from '../../../../test/support/databases.ts'
import { openQueue } from '../../../../test/support/pg-boss-scene.ts'
import { until } from '../../../../test/support/wait-until.ts'
import { webhookReceiver } from '../../../../test/support/webhook-receiver.ts'
import { NOON, webhookScene } from '../../../../test/support/webhook-scene.ts'
import { statementBatches } from '../db/database.ts'
import { ParkedEvents } from './deliver-webhook.ts'
import { MAX_PINGS_PER_HOUR, pingWebhook, redeliver } from './manage-webhooks.ts'
import { MAX_WAITING } from './record-event.ts'
import type { Webhook } from './webhook-store.ts'

const HOUR = 3_600_000

type Scene = Awaited<ReturnType<typeof webhookScene>>

/** Starts deliveries of alice: two hang, and all others are parked. */
async function stalledScene(t: TestContext, scene: Scene, events: number) {
  const receiver = await webhookReceiver(t)
  const hanging: ServerResponse[] = []
  receiver.respond = (response) => void hanging.push(response)
  const alice = await scene.createAccount('alice')
  const webhook = await scene.addWebhook(alice, receiver.url)
  for (let n = 0; n < events; n++) await scene.recordEnd(alice)
  scene.work()
  scene.queue.wake()
  await until('two are being sent and the others have no job', async () => {
    const [left] = await scene.queue.backlog()
    return receiver.received.length === 2 && left?.jobs === 2
  })
  const respondToAll = () => {
    receiver.respond = (response) => void response.end()
    for (const response of hanging) response.end()
  }
  return { receiver, webhook, respondToAll }
}

/** Inserts events that are parked already. */
async function addParked({ db }: Scene, webhook: Webhook, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => ({
    ...{ guid: `parked-${n}`, webhook_id: webhook.id, event: 'ping', action: null, subject: '{}' },
    ...{ payload: null, state: 'waiting', generation: 1, attempts: 0, attempts_left: 1, parked: 1 },
    ...{ next_at: NOON, created_at: NOON },
  }))
  for (const some of statementBatches(rows))
    await db.insertInto('webhook_events').values(some).execute()
}

onEachEngine('parked deliveries', (engine, testOnSqlite) => {
  testOnSqlite('10,000 parked events cause no writes during an hour', async (t) => {
    const scene = await webhookScene(t, engine)
    const { webhook, receiver } = await stalledScene(t, scene, 30)
    await addParked(scene, webhook, 10_000)
    const before = { ...scene.counts }
    for (let minute = 0; minute < 60; minute++) {
      const reads = scene.counts.reads
      scene.clock.now += HOUR / 60
      scene.queue.wake()
      await scene.resumeParked()
      await until('the worker has polled for jobs', () => scene.counts.reads >= reads + 2)
    }
    assert.equal(scene.counts.writes - before.writes, 0)
    assert.equal(receiver.received.length, 2)
  })

  test('parked events are sent, one whenever another delivery ends', async (t) => {
    const scene = await webhookScene(t, engine)
    const { webhook, respondToAll } = await stalledScene(t, scene, 40)
    const before = scene.counts.writes
    respondToAll()
    await until('all are sent', async () => {
      const rows = await scene.db.selectFrom('webhook_events').select('state').execute()
      return rows.length === 40 && rows.every(({ state }) => state === 'delivered')
    })
    assert.equal((await scene.deliveries(webhook)).length, 40)
    assert.ok(
      scene.counts.writes - before < 40 * 15,
      'each delivery has a limited number of writes',
    )
    assert.deepEqual(scene.errors, [])
  })

  test('parked events of a process that died are sent by the next one', async (t) => {
    const scene = await webhookScene(t, engine)
    const { webhook, respondToAll } = await stalledScene(t, scene, 20)
    await scene.stop()
    respondToAll()
    // The state after a process dies between the end of a delivery and the next job.
    await scene.db.deleteFrom('jobs').execute()
    await scene.db.updateTable('webhook_events').set({ parked: 1 }).execute()
    scene.work()
    await scene.resumeParked()
    await until('all are sent', async () => (await scene.deliveries(webhook)).length === 20)
  })

  testOnSqlite('a failing webhook does not delay the others of its owner', async (t) => {
    const scene = await webhookScene(t, engine)
    const hanging = await webhookReceiver(t)
    hanging.respond = () => {}
    for (let n = 0; n < 9; n++) {
      const owner = await scene.createAccount(`owner-${n}`)
      await scene.addWebhook(owner, hanging.url)
      await scene.db.updateTable('webhooks').set({ failing_since: 1 }).execute()
      await scene.recordEnd(owner)
    }
    scene.work()
    await until('all but one are being sent', () => hanging.received.length === 8)
    const last = await scene.createAccount('owner-8')
    const good = await webhookReceiver(t)
    await scene.addWebhook(last, good.url, { events: ['migration.failed'] })
    for (let n = 0; n < 5; n++) await scene.recordEnd(last, 'failed')
    await until('deliveries to its other webhook arrive', () => good.received.length === 5)
    assert.equal(hanging.received.length, 8)
  })

  test('a webhook has at most 60 pings per hour and 500 waiting events', async (t) => {
    const scene = await webhookScene(t, engine)
    const alice = await scene.createAccount('alice')
    const webhook = await scene.addWebhook(alice, 'https://receiver.test/')
    const ping = () => pingWebhook(scene.dependencies, webhook, { sender: alice })
    for (let n = 0; n < MAX_PINGS_PER_HOUR; n++) await ping()
    const events = () => scene.db.selectFrom('webhook_events').selectAll().orderBy('id').execute()
    const before = await events()
    const refusal = (message: string) => ({
      name: 'InvalidRequest',
      errors: [{ code: 'custom', message }],
    })
    const tooMany = refusal('This webhook was sent 60 pings in the last hour. Try again later.')
    await assert.rejects(ping(), tooMany)
    assert.deepEqual(await events(), before)
    scene.clock.now += HOUR
    await ping()
    await addParked(scene, webhook, MAX_WAITING - MAX_PINGS_PER_HOUR - 1)
    const full = refusal(
      '500 events of this webhook are waiting to be delivered already. Try again later.',
    )
    await assert.rejects(ping(), full)
    await assert.rejects(redeliver(scene.dependencies, webhook, before[0]!.id), full)
    await scene.recordEnd(alice, 'exported')
    const [listed, ...others] = await scene.deliveries(webhook)
    assert.deepEqual(others, [])
    assert.deepEqual(
      [listed!.status, listed!.statusCode, listed!.state, listed!.action],
      ['Not sent: 500 events are waiting already', 0, 'given_up', 'exported'],
    )
    await scene.db.deleteFrom('webhook_events').where('event', '=', 'ping').execute()
    await redeliver(scene.dependencies, webhook, listed!.eventId)
    assert.equal((await events())[0]!.state, 'waiting')
  })
})

test('a delivery that ends while a parked event is being enqueued makes room for another one', async (t) => {
  const scene = await webhookScene(t, 'sqlite')
  const { db, queue } = scene
  const owner = await scene.createAccount('alice')
  const webhook = await scene.addWebhook(owner, 'https://receiver.test/')
  await addParked(scene, webhook, 5)
  let onEnqueue = async () => {}
  const enqueue: typeof queue.enqueue = async (...args) => {
    await queue.enqueue(...args)
    await onEnqueue()
  }
  const parked = new ParkedEvents({ db, queue: { ...queue, enqueue } })
  const slot = () => ({ ownerId: owner.id, isFailing: false })
  const [leaveFirst, leaveSecond] = [parked.enter(slot())!, parked.enter(slot())!]
  await parked.afterParking(webhook.id, slot())
  assert.deepEqual(await queue.backlog(), [])
  onEnqueue = async () => {
    onEnqueue = async () => {}
    leaveSecond()
    await parked.resumeNext()
  }
  leaveFirst()
  await parked.resumeNext()
  assert.equal((await queue.backlog())[0]?.jobs, 2)
})

test('on pg-boss, 10,000 parked events are neither read nor written', async (t) => {
  const opened = await openQueue(t)
  const scene = await webhookScene(t, 'postgres', opened)
  const { webhook, respondToAll } = await stalledScene(t, scene, 30)
  await addParked(scene, webhook, 10_000)
  const before = { ...scene.counts }
  for (let minute = 0; minute < 60; minute++) await scene.resumeParked()
  const rows = () =>
    sql`select id::text, retry_count, start_after from godwit_queue.job order by id`
      .execute(opened.db)
      .then((found) => found.rows)
  const held = await rows()
  const commits = async () => {
    const { rows } = await sql<{ commits: number }>`select xact_commit as commits
      from pg_stat_database where datname = current_database()`.execute(opened.db)
    return rows[0]!.commits
  }
  const begun = await commits()
  await until('the worker has polled 50 times', async () => (await commits()) > begun + 50)
  assert.deepEqual(await rows(), held)
  assert.deepEqual(
    { writes: scene.counts.writes - before.writes, reads: scene.counts.reads - before.reads },
    { writes: 0, reads: 60 },
  )
  respondToAll()
  let sent = 0
  const seen = () => `${sent} of the next ones are sent, ${JSON.stringify(scene.errors)}`
  await until(seen, async () => {
    sent = (await scene.deliveries(webhook)).length
    return sent > 10
  })
})
