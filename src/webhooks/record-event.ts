import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Scope } from '../accounts/scope.ts'
import type { Db } from '../db/database.ts'
import type { Queue } from '../queue/queue.ts'
import { insertDelivery, tallyDelivery } from './delivery-store.ts'
import { MAX_TRIES } from './event-store.ts'
import { type DeliveredEvent, isSubscribed, type Webhook } from './webhook.ts'
import { listWebhooks } from './webhook-store.ts'

/** Its name is in the queue of running services: a rename needs both for a while. */
export const DELIVER_WEBHOOK = 'deliver-webhook'

export interface DeliverJob {
  eventId: number
  turn: number
}

/** All jobs of one webhook. */
export const batchOfWebhook = ({ id }: Pick<Webhook, 'id'>): string => `webhook ${id}`

export interface NewEvent extends DeliveredEvent {
  /** What it is about, as it is now: plain JSON. */
  facts: unknown
}

interface NoteParts {
  queue: Queue
  now: () => number
}

/**
 * Writes down what is to be told to the webhooks of that owner, with the transaction that makes it true: whoever dies
 * afterwards, it will be told.
 */
export async function recordEvent(
  parts: NoteParts,
  tx: Db,
  scope: Scope,
  describe: () => Promise<NewEvent>,
): Promise<void> {
  const webhooks = (await listWebhooks(tx, scope)).filter(({ isActive }) => isActive)
  if (webhooks.length === 0) return
  const event = await describe()
  for (const webhook of webhooks)
    if (isSubscribed(webhook, event))
      await enqueueWebhookEvent(parts, tx, webhook, event, MAX_TRIES)
}

/** Of one webhook: events that wait to be delivered. */
export const MAX_WAITING = 500

export async function hasRoomToWait(db: Db, { id }: Pick<Webhook, 'id'>): Promise<boolean> {
  const waiting = await db
    .selectFrom('webhook_events')
    .select('id')
    .where('webhook_id', '=', id)
    // Written out, as the partial index requires.
    .where('state', '=', sql.lit('waiting'))
    .limit(MAX_WAITING)
    .execute()
  return waiting.length < MAX_WAITING
}

/**
 * The same to one webhook, whatever it wants to hear. Where too many events wait already, it is not sent: the log of deliveries
 * says so, and from there it can be sent later.
 */
export async function enqueueWebhookEvent(
  { queue, now }: NoteParts,
  tx: Db,
  webhook: Webhook,
  { event, action, facts }: NewEvent,
  tries: number,
): Promise<void> {
  const at = now()
  const isSent = await hasRoomToWait(tx, webhook)
  const { id } = await tx
    .insertInto('webhook_events')
    .values({
      guid: randomUUID(),
      webhook_id: webhook.id,
      event,
      action,
      facts: JSON.stringify(facts),
      payload: null,
      state: isSent ? 'waiting' : 'given up',
      turn: 1,
      tries: 0,
      tries_left: isSent ? tries : 0,
      next_at: at,
      created_at: at,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  if (isSent) return enqueueDelivery(queue, tx, webhook, { eventId: id, turn: 1 })
  await insertDelivery(tx, {
    ...{ eventId: id, webhookId: webhook.id, deliveredAt: at, isRedelivery: false, durationMs: 0 },
    ...{ status: `Not sent: ${MAX_WAITING} events are waiting already`, statusCode: 0 },
    ...{ url: webhook.url, requestHeaders: {}, response: null },
  })
  await tallyDelivery(tx, 'given up')
}

export const enqueueDelivery = (
  queue: Queue,
  tx: Db,
  webhook: Pick<Webhook, 'id'>,
  job: DeliverJob,
): Promise<void> => queue.enqueue(tx, DELIVER_WEBHOOK, [job], batchOfWebhook(webhook), 'webhooks')
