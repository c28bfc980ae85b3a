import { sql } from 'kysely'
import { countRows, type Db } from '../db/database.ts'
import type { DeliveredEvent, Webhook } from './webhook-store.ts'

export type EventState = 'waiting' | 'delivered' | 'given_up'

/** An event to be delivered to one webhook. */
export type WebhookEvent = NonNullable<Awaited<ReturnType<typeof findEvent>>>

/**
 * `guid` is the same at every attempt, so that a receiver can recognize duplicates. `payload` is the JSON to send; null before the first
 * attempt. `generation` is incremented with every redelivery; jobs with an earlier number are ignored.
 */
export async function findEvent(db: Db, id: number) {
  const row = await db
    .selectFrom('webhook_events')
    .select(['id', 'guid', 'webhook_id as webhookId', 'event', 'action', 'subject', 'payload'])
    .select(['state', 'generation', 'attempts', 'attempts_left as attemptsLeft'])
    .select('next_at as nextAt')
    .$narrowType<{ event: DeliveredEvent['event']; state: EventState }>()
    .where('id', '=', id)
    .executeTakeFirst()
  /** The subject of the event when it occurred, as plain JSON. */
  const subject: unknown = row && JSON.parse(row.subject)
  return row && { ...row, subject }
}

/** Called before the first attempt, so that all attempts send the same payload. */
export async function storePayload(db: Db, { id }: WebhookEvent, payload: string): Promise<void> {
  const update = db.updateTable('webhook_events').set({ payload }).where('id', '=', id)
  await update.where('payload', 'is', null).execute()
}

/** Returns false if a redelivery was requested during the attempt. The job of the redelivery then records the result. */
export async function recordAttempt(
  tx: Db,
  { id, attempts, generation }: WebhookEvent,
  { state, attemptsLeft, nextAt }: Pick<WebhookEvent, 'state' | 'attemptsLeft' | 'nextAt'>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('webhook_events')
    .set({ state, attempts: attempts + 1, attempts_left: attemptsLeft, next_at: nextAt })
    .where('id', '=', id)
    .where('generation', '=', generation)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Gives up an event without an attempt. */
export async function dropEvent(tx: Db, id: number): Promise<void> {
  await tx
    .updateTable('webhook_events')
    .set({ state: 'given_up', attempts_left: 0 })
    .where('id', '=', id)
    .where('state', '=', 'waiting')
    .execute()
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Pauses after failed attempts, about a day in total. */
const RETRY_PAUSES = [
  ...[10 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE],
  ...[HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 8 * HOUR],
]

export const MAX_ATTEMPTS = RETRY_PAUSES.length + 1

export const pauseAfter = (attempts: number): number =>
  RETRY_PAUSES[Math.min(attempts, RETRY_PAUSES.length) - 1] ?? SECOND

/** A webhook is deactivated if it fails for this time without a success. */
export const DISABLED_AFTER_MS = 7 * 24 * HOUR

/** One attempt to deliver an event. */
export type Delivery = ReturnType<typeof deliveryOf>

/** A delivery with its request and response. */
export type FullDelivery = NonNullable<Awaited<ReturnType<typeof findDelivery>>>

export interface ReceivedResponse {
  headers: Record<string, string>
  /** The first bytes. */
  body: string
}

type FieldOfEvent = 'guid' | 'event' | 'action' | 'state' | 'nextAt' | 'subject' | 'payload'

type NewDelivery = Omit<FullDelivery, 'id' | FieldOfEvent> & { webhookId: number }

export async function insertDelivery(tx: Db, delivery: NewDelivery): Promise<void> {
  await tx
    .insertInto('webhook_deliveries')
    .values({
      event_id: delivery.eventId,
      webhook_id: delivery.webhookId,
      delivered_at: delivery.deliveredAt,
      redelivery: Number(delivery.isRedelivery),
      duration_ms: delivery.durationMs,
      status: delivery.status,
      status_code: delivery.statusCode,
      url: delivery.url,
      request_headers: JSON.stringify(delivery.requestHeaders),
      // As JSON, because a response may contain bytes that PostgreSQL does not accept in text.
      response: delivery.response && JSON.stringify(delivery.response),
    })
    .execute()
}

/** Lists deliveries, newest first. `from` is the id of the newest one to list; all are listed by default. */
export async function listDeliveries(
  db: Db,
  { id }: Webhook,
  { from, limit }: { from?: number | undefined; limit: number },
): Promise<Delivery[]> {
  const rows = await deliveriesOf(db, id)
    .$if(from !== undefined, (query) => query.where('webhook_deliveries.id', '<=', from!))
    .orderBy('webhook_deliveries.id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(deliveryOf)
}

export async function findDelivery(db: Db, webhook: Webhook, id: number) {
  const row = await deliveriesOf(db, webhook.id)
    .select(['url', 'request_headers as requestHeaders', 'response', 'payload'])
    .where('webhook_deliveries.id', '=', id)
    .executeTakeFirst()
  return (
    row && {
      ...deliveryOf(row),
      url: row.url,
      requestHeaders: JSON.parse(row.requestHeaders) as Record<string, string>,
      payload: row.payload ?? '{}',
      response: row.response === null ? null : (JSON.parse(row.response) as ReceivedResponse),
    }
  )
}

function deliveriesOf(db: Db, webhookId: number) {
  return db
    .selectFrom('webhook_deliveries')
    .innerJoin('webhook_events', 'webhook_events.id', 'event_id')
    .select(['webhook_deliveries.id', 'event_id as eventId', 'delivered_at as deliveredAt'])
    .select(['redelivery', 'duration_ms as durationMs', 'status', 'status_code as statusCode'])
    .select(['guid', 'event', 'action', 'state', 'next_at as nextAt', 'subject'])
    .$narrowType<{ event: DeliveredEvent['event']; state: EventState }>()
    .where('webhook_deliveries.webhook_id', '=', webhookId)
}

type DeliveryRow = Awaited<ReturnType<ReturnType<typeof deliveriesOf>['execute']>>[number]

/** `state` is the current one of the event, after this attempt and later ones. */
const deliveryOf = ({ redelivery, ...row }: DeliveryRow) => ({
  ...row,
  /** The subject of the event when it occurred, as plain JSON. */
  subject: JSON.parse(row.subject) as unknown,
  isRedelivery: redelivery === 1,
  /** The time of the next attempt, if there is one. */
  nextAt: row.state === 'waiting' ? row.nextAt : null,
})

/** `delivered` and `failed` count attempts, `given_up` counts events. */
type CountedDelivery = 'delivered' | 'failed' | 'given_up'

/** Called in the transaction that writes the outcome. */
export async function countDelivery(tx: Db, outcome: CountedDelivery): Promise<void> {
  await tx
    .updateTable('delivery_counts')
    .set((eb) => ({ count: eb('count', '+', 1) }))
    .where('outcome', '=', outcome)
    .execute()
}

export async function readDeliveryCounts(db: Db): Promise<Map<string, number>> {
  const rows = await db.selectFrom('delivery_counts').selectAll().execute()
  return new Map(rows.map(({ outcome, count }) => [outcome, count]))
}

/** Counts events that wait for a delivery, including parked ones. */
export function countWaitingEvents(db: Db): Promise<number> {
  // A literal, because the partial index requires it.
  return countRows(db.selectFrom('webhook_events').where('state', '=', sql.lit('waiting')))
}

/** Deliveries are kept long enough to be inspected after a holiday. */
const DELIVERY_TTL_MS = 30 * 24 * 3_600_000
/** The maximum for one webhook. */
export const MAX_KEPT = 500

/** Limits the log of deliveries by age and number. Keeps waiting events. */
export async function sweepDeliveries(db: Db, now: number): Promise<void> {
  const old = now - DELIVERY_TTL_MS
  await db.deleteFrom('webhook_deliveries').where('delivered_at', '<', old).execute()
  const query = db.selectFrom('webhook_deliveries').select('webhook_id').groupBy('webhook_id')
  const many = await query.having((eb) => eb.fn.countAll(), '>', MAX_KEPT).execute()
  for (const { webhook_id } of many) await deleteOldest(db, webhook_id)
  await db
    .deleteFrom('webhook_deliveries')
    .where('webhook_id', 'not in', (eb) => eb.selectFrom('webhooks').select('id'))
    .execute()
  await sweepEvents(db)
}

/** Rows per statement: on SQLite, everything else waits for a statement. */
const EVENTS_AT_ONCE = 2000

/** Deletes ended events without deliveries, and events of deleted webhooks. */
async function sweepEvents(db: Db): Promise<void> {
  for (let after = 0; ; ) {
    const query = db.selectFrom('webhook_events').select('id').where('id', '>', after).orderBy('id')
    const rows = await query.limit(EVENTS_AT_ONCE).execute()
    const last = rows.at(-1)
    if (!last) return
    await db
      .deleteFrom('webhook_events')
      .where('id', '>', after)
      .where('id', '<=', last.id)
      .where((eb) => {
        const deliveries = eb
          .selectFrom('webhook_deliveries')
          .select(sql.lit(1).as('one'))
          .whereRef('event_id', '=', 'webhook_events.id')
        const hasEnded = eb('state', '<>', 'waiting').and(eb.not(eb.exists(deliveries)))
        return eb('webhook_id', 'not in', eb.selectFrom('webhooks').select('id')).or(hasEnded)
      })
      .execute()
    after = last.id
  }
}

async function deleteOldest(db: Db, webhookId: number): Promise<void> {
  const query = db.selectFrom('webhook_deliveries').select('id').where('webhook_id', '=', webhookId)
  const last = await query.orderBy('id', 'desc').offset(MAX_KEPT).limit(1).executeTakeFirst()
  if (!last) return
  const deletion = db.deleteFrom('webhook_deliveries').where('webhook_id', '=', webhookId)
  await deletion.where('id', '<=', last.id).execute()
}
