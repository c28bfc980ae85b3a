import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Scope } from '../accounts/account.ts'
import type { Db } from '../db/database.ts'
import type { Queue } from '../queue/queue.ts'
import { countDelivery, insertDelivery, MAX_ATTEMPTS } from './delivery-store.ts'
import { type DeliveredEvent, isSubscribed, listWebhooks, type Webhook } from './webhook-store.ts'

/** The kind of the jobs. The queue may hold such jobs during an upgrade: if this is renamed, the old name needs a handler, too. */
export const DELIVER_WEBHOOK = 'deliver-webhook'

export type DeliverJob = { eventId: number; generation: number }

/** The batch of all jobs of one webhook. */
export const batchOfWebhook = ({ id }: Pick<Webhook, 'id'>): string => `webhook ${id}`

interface NewEvent extends DeliveredEvent {
  /** The subject of the event as it is now, as plain JSON. */
  subject: unknown
}

type RecordDependencies = { queue: Queue; now: () => number }

/**
 * Records an event for the subscribed webhooks of the owner, in the transaction that causes it. It will be delivered even if the process
 * dies afterwards.
 */
export async function recordEvent(
  dependencies: RecordDependencies,
  tx: Db,
  scope: Scope,
  describe: () => Promise<NewEvent>,
): Promise<void> {
  const webhooks = (await listWebhooks(tx, scope)).filter(({ isActive }) => isActive)
  if (webhooks.length === 0) return
  const event = await describe()
  for (const webhook of webhooks)
    if (isSubscribed(webhook, event))
      await enqueueWebhookEvent(dependencies, tx, webhook, event, MAX_ATTEMPTS)
}

/** The maximum number of waiting events of one webhook. */
export const MAX_WAITING = 500

export async function mayEnqueueEvent(db: Db, { id }: Pick<Webhook, 'id'>): Promise<boolean> {
  const waiting = await db
    .selectFrom('webhook_events')
    .select('id')
    .where('webhook_id', '=', id)
    // A literal, because the partial index requires it.
    .where('state', '=', sql.lit('waiting'))
    .limit(MAX_WAITING)
    .execute()
  return waiting.length < MAX_WAITING
}

/**
 * Records an event for one webhook, subscribed or not. If too many events are waiting, the event is given up: the log of deliveries
 * shows that, and the event can be redelivered.
 */
export async function enqueueWebhookEvent(
  { queue, now }: RecordDependencies,
  tx: Db,
  webhook: Webhook,
  { event, action, subject }: NewEvent,
  attempts: number,
): Promise<void> {
  const at = now()
  const isEnqueued = await mayEnqueueEvent(tx, webhook)
  const { id } = await tx
    .insertInto('webhook_events')
    .values({
      guid: randomUUID(),
      webhook_id: webhook.id,
      event,
      action,
      subject: JSON.stringify(subject),
      state: isEnqueued ? 'waiting' : 'given_up',
      generation: 1,
      attempts: 0,
      attempts_left: isEnqueued ? attempts : 0,
      next_at: at,
      created_at: at,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  if (isEnqueued) return enqueueDelivery(queue, tx, webhook, { eventId: id, generation: 1 })
  await insertDelivery(tx, {
    eventId: id,
    webhookId: webhook.id,
    deliveredAt: at,
    isRedelivery: false,
    durationMs: 0,
    ...{ status: `Not sent: ${MAX_WAITING} events are waiting already`, statusCode: 0 },
    ...{ url: webhook.url, requestHeaders: {}, response: null },
  })
  await countDelivery(tx, 'given_up')
}

export const enqueueDelivery = (
  queue: Queue,
  tx: Db,
  webhook: Pick<Webhook, 'id'>,
  job: DeliverJob,
): Promise<void> => queue.enqueue(tx, DELIVER_WEBHOOK, [job], batchOfWebhook(webhook), 'webhooks')
