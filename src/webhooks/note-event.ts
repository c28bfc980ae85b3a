import { randomUUID } from 'node:crypto'
import type { Scope } from '../accounts/scope.ts'
import type { Db } from '../db/database.ts'
import type { Queue } from '../queue/queue.ts'
import { MAX_TRIES } from './retry-times.ts'
import { isSubscribed, type ToldEvent, type Webhook } from './webhook.ts'
import { listWebhooks } from './webhook-store.ts'

/** Its name is in the queue of running services: a rename needs both for a while. */
export const DELIVER_WEBHOOK = 'deliver-webhook'

export interface DeliverJob {
  eventId: number
  turn: number
}

/** All jobs of one webhook. */
export const batchOfWebhook = ({ id }: Pick<Webhook, 'id'>): string => `webhook ${id}`

export interface NewEvent extends ToldEvent {
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
export async function noteEvent(
  parts: NoteParts,
  tx: Db,
  scope: Scope,
  describe: () => Promise<NewEvent>,
): Promise<void> {
  const webhooks = (await listWebhooks(tx, scope)).filter(({ isActive }) => isActive)
  if (webhooks.length === 0) return
  const event = await describe()
  for (const webhook of webhooks)
    if (isSubscribed(webhook, event)) await tellWebhook(parts, tx, webhook, event, MAX_TRIES)
}

/** The same to one webhook, whatever it wants to hear. */
export async function tellWebhook(
  { queue, now }: NoteParts,
  tx: Db,
  webhook: Webhook,
  { event, action, facts }: NewEvent,
  tries: number,
): Promise<void> {
  const at = now()
  const { id } = await tx
    .insertInto('webhook_events')
    .values({
      guid: randomUUID(),
      webhook_id: webhook.id,
      event,
      action,
      facts: JSON.stringify(facts),
      payload: null,
      state: 'waiting',
      turn: 1,
      tries: 0,
      tries_left: tries,
      next_at: at,
      created_at: at,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await enqueueDelivery(queue, tx, webhook, { eventId: id, turn: 1 })
}

export const enqueueDelivery = (
  queue: Queue,
  tx: Db,
  webhook: Pick<Webhook, 'id'>,
  job: DeliverJob,
): Promise<void> => queue.enqueue(tx, DELIVER_WEBHOOK, [job], batchOfWebhook(webhook), 'webhooks')
