import { InvalidRequest, NotFound } from '@godwit/lib/request-errors'
import type { Account, Scope } from '../accounts/account.ts'
import { type AlsoWrite, type Db, lockRow } from '../db/database.ts'
import type { Queue } from '../queue/queue.ts'
import * as events from './record-event.ts'
import type { Webhook, WebhookSettings } from './webhook-store.ts'
import * as webhookStore from './webhook-store.ts'

type ManageDependencies = { db: Db; queue: Queue; now: () => number }

/** The maximum for one account or organization. */
const MAX_WEBHOOKS = 20

/** The maximum for one webhook. */
export const MAX_PINGS_PER_HOUR = 60
const HOUR = 3_600_000

export type PingSubject = { sender: Account }

const limitReached = (message: string) => new InvalidRequest([{ code: 'custom', message }])

/** Adds a webhook, and sends it a ping if it is active. Throws InvalidRequest if the owner has too many already. */
export async function addWebhook(
  dependencies: ManageDependencies,
  scope: Scope,
  settings: WebhookSettings,
  ping: PingSubject,
  alsoWrite?: AlsoWrite<[Webhook]>,
): Promise<Webhook> {
  const { db, queue, now } = dependencies
  const added = await db.transaction().execute(async (tx) => {
    await lockRow(tx, 'accounts', scope.owner.id)
    if ((await webhookStore.listWebhooks(tx, scope)).length >= MAX_WEBHOOKS)
      throw limitReached(`There are ${MAX_WEBHOOKS} webhooks already.`)
    const webhook = await webhookStore.insertWebhook(tx, scope, settings, now())
    if (settings.isActive) await sendPing(dependencies, tx, webhook, ping)
    await alsoWrite?.(tx, webhook)
    return webhook
  })
  queue.wake('webhooks')
  return added
}

/**
 * Saves what `change` returns for the current settings, so that of two changes at the same time neither is lost. Throws NotFound if the
 * webhook was removed meanwhile.
 */
export async function editWebhook(
  { db, now }: ManageDependencies,
  { id }: Webhook,
  change: (current: Webhook) => WebhookSettings,
  alsoWrite?: AlsoWrite<[Webhook]>,
): Promise<Webhook> {
  return db.transaction().execute(async (tx) => {
    await lockRow(tx, 'webhooks', id)
    const current = await webhookStore.webhookById(tx, id)
    if (!current) throw new NotFound()
    await webhookStore.updateWebhook(tx, current, change(current), now())
    const changed = (await webhookStore.webhookById(tx, id))!
    await alsoWrite?.(tx, changed)
    return changed
  })
}

/** Removes the webhook with its events and deliveries, and stops deliveries that are running. */
export async function removeWebhook(
  { db, queue }: ManageDependencies,
  webhook: Webhook,
  alsoWrite?: AlsoWrite,
): Promise<void> {
  const batch = events.batchOfWebhook(webhook)
  await db.transaction().execute(async (tx) => {
    await webhookStore.deleteWebhook(tx, webhook)
    await queue.cancel(tx, batch)
    await alsoWrite?.(tx)
  })
  queue.interrupt(batch)
}

/** Throws InvalidRequest if the webhook had too many pings lately, or too many of its events are waiting. */
export async function pingWebhook(
  dependencies: ManageDependencies,
  webhook: Webhook,
  ping: PingSubject,
  alsoWrite?: AlsoWrite,
): Promise<void> {
  await dependencies.db.transaction().execute(async (tx) => {
    await lockRow(tx, 'webhooks', webhook.id)
    await requireFewWaiting(tx, webhook)
    await requireFewPings(tx, webhook, dependencies.now())
    await sendPing(dependencies, tx, webhook, ping)
    await alsoWrite?.(tx)
  })
  dependencies.queue.wake('webhooks')
}

/** A ping has one attempt, because the person who sent it sees the result. */
const sendPing = (
  dependencies: ManageDependencies,
  tx: Db,
  webhook: Webhook,
  subject: PingSubject,
): Promise<void> =>
  events.enqueueWebhookEvent(dependencies, tx, webhook, { event: 'ping', action: null, subject }, 1)

async function requireFewWaiting(tx: Db, webhook: Webhook): Promise<void> {
  if (await events.mayEnqueueEvent(tx, webhook)) return
  throw limitReached(
    `${events.MAX_WAITING} events of this webhook are waiting to be delivered already. Try again later.`,
  )
}

async function requireFewPings(tx: Db, { id }: Webhook, now: number): Promise<void> {
  const pings = await tx
    .selectFrom('webhook_events')
    .select('id')
    .where('webhook_id', '=', id)
    .where('event', '=', 'ping')
    .where('created_at', '>', now - HOUR)
    .limit(MAX_PINGS_PER_HOUR)
    .execute()
  if (pings.length < MAX_PINGS_PER_HOUR) return
  throw limitReached(
    `This webhook was sent ${MAX_PINGS_PER_HOUR} pings in the last hour. Try again later.`,
  )
}

/**
 * Sends an event again, with the same id. A waiting event keeps its remaining attempts; one that was delivered or given up gets one
 * attempt. Throws InvalidRequest if too many events are waiting.
 */
export async function redeliver(
  { db, queue, now }: ManageDependencies,
  webhook: Webhook,
  eventId: number,
  alsoWrite?: AlsoWrite,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockRow(tx, 'webhooks', webhook.id)
    await requireFewWaiting(tx, webhook)
    const { generation } = await tx
      .updateTable('webhook_events')
      .set((eb) => {
        const isWaiting = eb.case().when('state', '=', 'waiting')
        const attempts_left = isWaiting.then(eb.ref('attempts_left')).else(1).end()
        const generation = eb('generation', '+', 1)
        return { generation, next_at: now(), attempts_left, state: 'waiting', parked: 0 }
      })
      .where('id', '=', eventId)
      .returning('generation')
      .executeTakeFirstOrThrow()
    await events.enqueueDelivery(queue, tx, webhook, { eventId, generation })
    await alsoWrite?.(tx)
  })
  queue.wake('webhooks')
}
