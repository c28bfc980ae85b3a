import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { onEachEngine } from '../../../../test/support/databases.ts'
import { until } from '../../../../test/support/wait-until.ts'
import { webhookReceiver } from '../../../../test/support/webhook-receiver.ts'
import { NOON, webhookScene } from '../../../../test/support/webhook-scene.ts'
import { releaseAllJobs } from '../queue/embedded.ts'
import {
  findDelivery,
  findEvent,
  MAX_KEPT,
  readDeliveryCounts,
  recordAttempt,
  sweepDeliveries,
} from './delivery-store.ts'
import { editWebhook, pingWebhook, redeliver, removeWebhook } from './manage-webhooks.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

onEachEngine('deliveries to webhooks', (engine, testOnSqlite) => {
  testOnSqlite(
    'each subscribed webhook of the owner receives an event once, and no other webhook does',
    async (t) => {
      const scene = await webhookScene(t, engine)
      const [alice, bob] = [await scene.createAccount('alice'), await scene.createAccount('bob')]
      const receiver = await webhookReceiver(t)
      const at = (path: string) => `${receiver.url}/${path}`
      const first = await scene.addWebhook(alice, at('all'), { events: ['*'] })
      await scene.addWebhook(alice, at('failed'), {
        events: ['migration.failed', 'migration.partial'],
      })
      await scene.addWebhook(alice, at('form'), {
        contentType: 'form',
        secret: 'of the form',
        events: ['migration.exported'],
      })
      await scene.addWebhook(alice, at('inactive'), { isActive: false })
      await scene.addWebhook(bob, at('bob'))
      await scene.recordEnd(alice, 'exported', { migration: 7 })
      scene.work()
      await scene.settle()
      assert.deepEqual(receiver.received.map(({ path }) => path).sort(), ['/all', '/form'])
      const payload = { event: 'migration', action: 'exported', subject: { migration: 7 } }
      const form = receiver.received.find(({ path }) => path === '/form')!
      assert.equal(form.headers['content-type'], 'application/x-www-form-urlencoded')
      assert.deepEqual(JSON.parse(new URLSearchParams(form.body).get('payload')!), payload)
      for (const [header, algorithm] of [
        ['x-hub-signature', 'sha1'],
        ['x-hub-signature-256', 'sha256'],
      ] as const) {
        const expected = createHmac(algorithm, 'of the form').update(form.body).digest('hex')
        assert.equal(form.headers[header], `${algorithm}=${expected}`)
      }
      const json = receiver.received.find(({ path }) => path === '/all')!
      assert.deepEqual(JSON.parse(json.body), payload)
      assert.equal(json.headers['user-agent'], 'Godwit-Hookshot/1.2.3')
      assert.equal(json.headers['x-hub-signature-256'], undefined, 'without a secret')
      const [delivery] = await scene.deliveries(first)
      assert.equal(json.headers['x-github-delivery'], delivery!.guid)
      const { id, durationMs, eventId, guid, ...known } = delivery!
      assert.deepEqual(known, {
        ...{ event: 'migration', action: 'exported', deliveredAt: NOON, isRedelivery: false },
        ...{ status: 'OK', statusCode: 200, state: 'delivered', nextAt: null },
        subject: payload.subject,
      })
      assert.deepEqual((await scene.webhook(first)).lastDelivery, {
        ...{ at: NOON, status: 'OK', statusCode: 200 },
      })
    },
  )

  test('a failing delivery is attempted ten times within a day, with one id, and then given up', async (t) => {
    const scene = await webhookScene(t, engine)
    const alice = await scene.createAccount('alice')
    const receiver = await webhookReceiver(t)
    receiver.respond = (response) => void response.writeHead(500).end('no\0')
    const webhook = await scene.addWebhook(alice, receiver.url, { secret: 'soon changed' })
    await scene.recordEnd(alice)
    scene.work()
    await scene.settle()
    const pauses = [10 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR]
    for (const [index, pause] of [...pauses, 8 * HOUR, 8 * HOUR].entries()) {
      assert.equal(receiver.received.length, index + 1)
      const [last] = await scene.deliveries(webhook)
      assert.deepEqual([last!.state, last!.nextAt], ['waiting', scene.clock.now + pause])
      await scene.advanceClock(pause - 1)
      assert.equal(receiver.received.length, index + 1, 'not before')
      await scene.advanceClock(1)
    }
    assert.equal(receiver.received.length, 10)
    assert.ok(scene.clock.now - NOON < DAY)
    await scene.advanceClock(30 * DAY)
    assert.equal(receiver.received.length, 10, 'no more')
    const all = await scene.deliveries(webhook)
    assert.deepEqual(
      all.map(({ isRedelivery }) => isRedelivery),
      [...Array(9).fill(true), false],
    )
    for (const { status, state } of all)
      assert.deepEqual([status, state], ['500 Internal Server Error', 'given_up'])
    const full = await findDelivery(scene.db, webhook, all[0]!.id)
    assert.equal(full?.response?.body, 'no\0')
    const sent = receiver.received.map(({ headers, body }) => [headers['x-github-delivery'], body])
    assert.equal(new Set(sent.map(String)).size, 1)
    assert.ok((await scene.webhook(webhook)).isActive, 'a day of failures does not deactivate it')
    const outcomeCounts = Object.fromEntries(await readDeliveryCounts(scene.db))
    assert.deepEqual(outcomeCounts, { delivered: 0, failed: 10, given_up: 1 })
    assert.deepEqual(scene.errors, [])
    assert.ok(!scene.logged.join().includes('soon changed'))
  })

  test('a webhook that fails for a week is deactivated with a reason, until it is changed', async (t) => {
    const scene = await webhookScene(t, engine)
    const alice = await scene.createAccount('alice')
    const receiver = await webhookReceiver(t)
    receiver.respond = (response) => void response.writeHead(410).end()
    const webhook = await scene.addWebhook(alice, receiver.url)
    scene.work()
    const failAllAttempts = async () => {
      await scene.recordEnd(alice)
      for (let attempt = 0; attempt < 10; attempt++) await scene.advanceClock(8 * HOUR)
    }
    await failAllAttempts()
    assert.equal((await scene.deliveries(webhook))[0]!.state, 'given_up')
    assert.ok((await scene.webhook(webhook)).isActive, 'it has failed for less than a week')
    await scene.advanceClock(4 * DAY)
    await failAllAttempts()
    const disabled = await scene.webhook(webhook)
    assert.equal(disabled.isActive, false)
    assert.equal(disabled.disabledReason, 'no delivery has succeeded since 2026-05-04: 410 Gone')
    const before = receiver.received.length
    await scene.recordEnd(alice)
    await scene.advanceClock(DAY)
    assert.equal(receiver.received.length, before)
    await editWebhook(scene.dependencies, disabled, (current) => ({
      ...current,
      events: ['migration.exported'],
    }))
    assert.equal((await scene.webhook(webhook)).disabledReason, disabled.disabledReason)
    receiver.respond = (response) => void response.end()
    await editWebhook(scene.dependencies, disabled, (current) => ({ ...current, isActive: true }))
    await scene.recordEnd(alice)
    await scene.advanceClock(0)
    assert.equal(receiver.received.length, before + 1)
    const again = await scene.webhook(webhook)
    assert.deepEqual([again.disabledReason, again.failingSince], [null, null])
  })

  test('a webhook that was changed or has succeeded is not deactivated by older deliveries', async (t) => {
    const scene = await webhookScene(t, engine)
    const alice = await scene.createAccount('alice')
    const receiver = await webhookReceiver(t)
    const added = await scene.addWebhook(alice, receiver.url)
    const failFrom = (failing_since: number) =>
      scene.db.updateTable('webhooks').set({ failing_since }).execute()
    scene.work()
    /** Sends a ping that fails after `during` has run. A ping has one attempt. */
    const failAfter = async (during: () => Promise<unknown>) => {
      const before = receiver.received.length
      let fail = () => {}
      receiver.respond = (response) => {
        fail = () => void response.writeHead(410).end()
      }
      await pingWebhook(scene.dependencies, added, { sender: alice })
      await until('the request arrives', () => receiver.received.length > before)
      receiver.respond = (response) => void response.end()
      scene.clock.now += MINUTE
      await during()
      fail()
      await scene.settle()
      return scene.webhook(added)
    }

    await failFrom(NOON - 8 * DAY)
    const succeeded = await failAfter(async () => {
      await pingWebhook(scene.dependencies, added, { sender: alice })
      await until(
        'the other ping has been sent',
        async () => (await scene.deliveries(added)).length > 0,
      )
    })
    assert.deepEqual([succeeded.isActive, succeeded.failingSince], [true, NOON])

    await failFrom(NOON - 8 * DAY)
    const repaired = await failAfter(() => editWebhook(scene.dependencies, added, () => added))
    assert.deepEqual([repaired.isActive, repaired.failingSince], [true, null])
    assert.equal(repaired.lastDelivery?.at, NOON + MINUTE, 'it is still the last delivery')

    const before = (await scene.deliveries(added)).length
    const pinged = await failAfter(async () => {
      await editWebhook(scene.dependencies, added, () => added)
      await pingWebhook(scene.dependencies, added, { sender: alice })
      await until(
        'the other ping has been sent',
        async () => (await scene.deliveries(added)).length > before,
      )
    })
    assert.equal(pinged.lastDelivery?.statusCode, 200, 'a later ping was delivered')
  })

  testOnSqlite('a redelivery sends the same id and body, any number of times', async (t) => {
    const scene = await webhookScene(t, engine)
    const alice = await scene.createAccount('alice')
    const receiver = await webhookReceiver(t)
    const webhook = await scene.addWebhook(alice, receiver.url)
    await scene.recordEnd(alice)
    scene.work()
    await scene.settle()
    const [first] = await scene.deliveries(webhook)
    await redeliver(scene.dependencies, webhook, first!.eventId)
    await scene.settle()
    receiver.respond = (response) => void response.writeHead(500).end()
    await redeliver(scene.dependencies, webhook, first!.eventId)
    await scene.settle()
    await scene.advanceClock(DAY)
    const [third, second] = await scene.deliveries(webhook)
    assert.deepEqual([second!.isRedelivery, second!.status], [true, 'OK'])
    assert.deepEqual([third!.status, third!.state], ['500 Internal Server Error', 'given_up'])
    assert.equal(receiver.received.length, 3)
    const sent = receiver.received.map(({ headers, body }) => [headers['x-github-delivery'], body])
    assert.equal(new Set(sent.map(String)).size, 1)
  })

  testOnSqlite(
    'a redelivery of a waiting event is sent now and keeps its remaining attempts',
    async (t) => {
      const scene = await webhookScene(t, engine)
      const alice = await scene.createAccount('alice')
      const receiver = await webhookReceiver(t)
      receiver.respond = (response) => void response.writeHead(500).end()
      const webhook = await scene.addWebhook(alice, receiver.url)
      await scene.recordEnd(alice)
      scene.work()
      await scene.settle()
      const [first] = await scene.deliveries(webhook)
      await redeliver(scene.dependencies, webhook, first!.eventId)
      await scene.settle()
      assert.equal(receiver.received.length, 2)
      for (let hour = 0; hour < 48; hour++) await scene.advanceClock(HOUR)
      assert.equal(receiver.received.length, 10)
    },
  )

  test('a redelivery requested during an attempt is sent, whatever the result of the attempt', async (t) => {
    const scene = await webhookScene(t, engine)
    const alice = await scene.createAccount('alice')
    const receiver = await webhookReceiver(t)
    const webhook = await scene.addWebhook(alice, receiver.url)
    await scene.recordEnd(alice)
    const { id } = await scene.db
      .selectFrom('webhook_events')
      .select('id')
      .executeTakeFirstOrThrow()
    const sent = (await findEvent(scene.db, id))!
    await redeliver(scene.dependencies, webhook, id)
    const delivered = { state: 'delivered', attemptsLeft: 0, nextAt: scene.clock.now } as const
    assert.equal(await recordAttempt(scene.db, sent, delivered), false)
    scene.work()
    await scene.settle()
    assert.equal(receiver.received.length, 1)
  })

  test('an attempt that was scheduled by a wrong clock is not late by hours', async (t) => {
    const scene = await webhookScene(t, engine)
    const alice = await scene.createAccount('alice')
    const receiver = await webhookReceiver(t)
    receiver.respond = (response) => void response.writeHead(500).end()
    await scene.addWebhook(alice, receiver.url)
    scene.clock.now = NOON + 7 * HOUR
    await scene.recordEnd(alice)
    scene.work()
    await scene.settle()
    assert.equal(receiver.received.length, 1)
    scene.clock.now = NOON
    // A real queue measures the pause with a monotonic clock: the job is due after ten seconds.
    await scene.db.updateTable('jobs').set({ due_at: scene.clock.now }).execute()
    await scene.advanceClock(10 * SECOND)
    assert.equal(receiver.received.length, 2)
  })

  test('a delivery whose process died is sent again with the same id', async (t) => {
    const scene = await webhookScene(t, engine)
    const alice = await scene.createAccount('alice')
    const receiver = await webhookReceiver(t)
    receiver.respond = () => {}
    const webhook = await scene.addWebhook(alice, receiver.url)
    await scene.recordEnd(alice)
    scene.work()
    await until('the request arrives', () => receiver.received.length === 1)
    await scene.stop()
    assert.deepEqual(await scene.deliveries(webhook), [], 'nothing was recorded')
    // The only process does this when it starts: all claimed jobs belong to a process that died.
    await releaseAllJobs(scene.db, scene.clock.now)
    receiver.respond = (response) => void response.end()
    scene.work({ payloadOf: () => ({ another: 'text' }) })
    await scene.settle()
    const [before, after] = receiver.received
    assert.equal(after!.headers['x-github-delivery'], before!.headers['x-github-delivery'])
    assert.equal(after!.body, before!.body)
    assert.equal((await scene.deliveries(webhook)).length, 1)
  })

  testOnSqlite('slow receivers do not delay deliveries to others', async (t) => {
    const scene = await webhookScene(t, engine)
    const hanging = await webhookReceiver(t)
    hanging.respond = () => {}
    const good = await webhookReceiver(t)
    const alice = await scene.createAccount('alice')
    await scene.addWebhook(alice, `${hanging.url}/alice`)
    for (let i = 0; i < 30; i++) await scene.recordEnd(alice)
    // More failing webhooks than the limit, each of another owner.
    for (let i = 0; i < 20; i++) {
      const owner = await scene.createAccount(`owner-${i}`)
      const { id } = await scene.addWebhook(owner, `${hanging.url}/failing`)
      await scene.db
        .updateTable('webhooks')
        .set({ failing_since: 1 })
        .where('id', '=', id)
        .execute()
      await scene.recordEnd(owner)
    }
    const bob = await scene.createAccount('bob')
    const webhook = await scene.addWebhook(bob, good.url)
    for (let i = 0; i < 3; i++) await scene.recordEnd(bob)
    scene.work()
    const ticking = setInterval(() => {
      scene.clock.now += 100
    }, 1)
    t.after(() => clearInterval(ticking))
    await until('all deliveries to bob arrive', () => good.received.length === 3)
    const of = (path: string) => hanging.received.filter((each) => each.path === path).length
    assert.deepEqual([of('/alice'), of('/failing') <= 8], [2, true])
    await until(
      'the deliveries to bob are recorded',
      async () => (await scene.deliveries(webhook)).length === 3,
    )
  })

  test('a removed webhook receives nothing and leaves no rows', async (t) => {
    const scene = await webhookScene(t, engine)
    const alice = await scene.createAccount('alice')
    const receiver = await webhookReceiver(t)
    const webhook = await scene.addWebhook(alice, receiver.url)
    await scene.recordEnd(alice)
    await removeWebhook(scene.dependencies, webhook)
    scene.work()
    await scene.settle()
    assert.deepEqual(receiver.received, [])
    assert.deepEqual(await scene.queue.backlog(), [])
    assert.deepEqual(await scene.db.selectFrom('webhook_events').selectAll().execute(), [])
  })

  test('the log of deliveries is limited by age and number; undelivered events stay', async (t) => {
    const scene = await webhookScene(t, engine)
    const alice = await scene.createAccount('alice')
    const receiver = await webhookReceiver(t)
    const webhook = await scene.addWebhook(alice, receiver.url)
    await scene.recordEnd(alice)
    scene.work()
    await scene.settle()
    await scene.stop()
    const { eventId } = (await scene.deliveries(webhook))[0]!
    const row = await scene.db
      .selectFrom('webhook_deliveries')
      .selectAll()
      .executeTakeFirstOrThrow()
    const { id, ...copy } = row
    const many = Array.from({ length: MAX_KEPT + 20 }, () => copy)
    await scene.db.insertInto('webhook_deliveries').values(many).execute()
    await scene.recordEnd(alice)
    const count = async (table: 'webhook_deliveries' | 'webhook_events') =>
      (await scene.db.selectFrom(table).select('id').execute()).length
    await sweepDeliveries(scene.db, NOON)
    assert.deepEqual([await count('webhook_deliveries'), await count('webhook_events')], [500, 2])
    await sweepDeliveries(scene.db, NOON + 31 * DAY)
    const left = await scene.db.selectFrom('webhook_events').selectAll().execute()
    assert.equal(await count('webhook_deliveries'), 0)
    assert.deepEqual(
      left.map(({ state }) => state),
      ['waiting'],
    )
    assert.notEqual(left[0]!.id, eventId)
  })
})
