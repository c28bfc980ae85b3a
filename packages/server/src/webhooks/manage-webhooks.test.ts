import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { type Engine, onEachEngine } from '../../../../test/support/databases.ts'
import { until } from '../../../../test/support/wait-until.ts'
import { webhookScene } from '../../../../test/support/webhook-scene.ts'
import { InvalidRequest, NotFound } from '../../../lib/src/request-errors.ts'
import { countRows } from '../db/database.ts'
import { editWebhook, redeliver, removeWebhook } from './manage-webhooks.ts'
import { MAX_WAITING } from './record-event.ts'
import type { Webhook } from './webhook-store.ts'

async function scene(t: TestContext, engine: Engine) {
  const { addWebhook, createAccount, dependencies } = await webhookScene(t, engine)
  const webhook = await addWebhook(await createAccount('alice'), 'https://old.example.com')
  return { dependencies, webhook }
}

onEachEngine('changes of a webhook', (engine) => {
  test('of two changes at the same time neither is lost', async (t) => {
    const { dependencies, webhook } = await scene(t, engine)
    const changes: Partial<Webhook>[] = [{ isActive: false }, { url: 'https://new.example.com' }]
    const edits = changes.map((change) =>
      editWebhook(dependencies, webhook, (current) => ({ ...current, ...change })),
    )
    await Promise.all(edits)
    const { url, isActive } = await editWebhook(dependencies, webhook, (current) => current)
    assert.deepEqual({ url, isActive }, { url: 'https://new.example.com', isActive: false })
  })

  test('a webhook that was removed meanwhile cannot be changed', async (t) => {
    const { dependencies, webhook } = await scene(t, engine)
    await removeWebhook(dependencies, webhook)
    const change = editWebhook(dependencies, webhook, (current) => current)
    await assert.rejects(change, NotFound)
  })
})

test('two redeliveries at the same time cannot exceed the limit of waiting events', async (t) => {
  const { addWebhook, createAccount, dependencies, recordEnd } = await webhookScene(t, 'postgres')
  const { db } = dependencies
  const alice = await createAccount('alice')
  const webhook = await addWebhook(alice, 'https://receiver.test')
  const events = () => db.selectFrom('webhook_events')
  for (let n = 0; n <= MAX_WAITING; n++) await recordEnd(alice)
  const last = await events().select('id').orderBy('id', 'desc').limit(2).execute()
  const [first, second] = last.map(({ id }) => id) as [number, number]
  const giveUp = db.updateTable('webhook_events').set({ state: 'given_up' })
  await giveUp.where('id', 'in', [first, second]).execute()

  let other: Promise<unknown> = Promise.resolve()
  await redeliver(dependencies, webhook, first, async () => {
    let hasEnded = false
    other = redeliver(dependencies, webhook, second)
      .catch((error: unknown) => error)
      .finally(() => (hasEnded = true))
    await until('the other redelivery has ended or waits for a lock', async () => {
      const waiting = await sql`select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
      return hasEnded || waiting.rows.length > 0
    })
  })
  assert.ok((await other) instanceof InvalidRequest)
  assert.equal(await countRows(events().where('state', '=', 'waiting')), MAX_WAITING)
})
