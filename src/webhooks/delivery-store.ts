import type { Db } from '../db/database.ts'
import type { EventState } from './event-store.ts'
import type { DeliveredEvent, Webhook } from './webhook.ts'

/** One try to tell a webhook something, as the log has it. */
export interface Delivery extends DeliveredEvent {
  id: number
  guid: string
  eventId: number
  deliveredAt: number
  isRedelivery: boolean
  durationMs: number
  status: string
  statusCode: number
  /** Of what it told, by now: this try or a later one may have ended it. */
  state: EventState
  /** When it is tried again, where it is. */
  nextAt: number | null
}

/** With what was said on both sides. */
export interface FullDelivery extends Delivery {
  url: string
  requestHeaders: Record<string, string>
  payload: string
  response: ReceivedResponse | null
}

export interface ReceivedResponse {
  headers: Record<string, string>
  /** The first bytes of it. */
  body: string
}

export interface NewDelivery {
  eventId: number
  webhookId: number
  deliveredAt: number
  isRedelivery: boolean
  durationMs: number
  status: string
  statusCode: number
  url: string
  requestHeaders: Record<string, string>
  response: ReceivedResponse | null
}

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
      // JSON throughout: whatever bytes came, the text of it is one that every database takes.
      response: delivery.response && JSON.stringify(delivery.response),
    })
    .execute()
}

export interface DeliveryPage {
  /** The newest that is shown, where it is not the newest of all. */
  from?: number | undefined
  limit: number
}

/** Newest first. */
export async function listDeliveries(
  db: Db,
  { id }: Webhook,
  { from, limit }: DeliveryPage,
): Promise<Delivery[]> {
  const rows = await deliveriesOf(db, id)
    .$if(from !== undefined, (some) => some.where('webhook_deliveries.id', '<=', from!))
    .orderBy('webhook_deliveries.id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(deliveryOf)
}

export async function findDelivery(
  db: Db,
  webhook: Webhook,
  id: number,
): Promise<FullDelivery | undefined> {
  const row = await deliveriesOf(db, webhook.id)
    .select(['url', 'request_headers', 'response', 'payload'])
    .where('webhook_deliveries.id', '=', id)
    .executeTakeFirst()
  return (
    row && {
      ...deliveryOf(row),
      url: row.url,
      requestHeaders: JSON.parse(row.request_headers) as Record<string, string>,
      payload: row.payload ?? '{}',
      response: row.response === null ? null : (JSON.parse(row.response) as ReceivedResponse),
    }
  )
}

function deliveriesOf(db: Db, webhookId: number) {
  return db
    .selectFrom('webhook_deliveries')
    .innerJoin('webhook_events', 'webhook_events.id', 'event_id')
    .select([
      'webhook_deliveries.id',
      'event_id',
      'delivered_at',
      'redelivery',
      'duration_ms',
      'status',
      'status_code',
      'guid',
      'event',
      'action',
      'state',
      'next_at',
    ])
    .where('webhook_deliveries.webhook_id', '=', webhookId)
}

type DeliveryRow = Awaited<ReturnType<ReturnType<typeof deliveriesOf>['execute']>>[number]

function deliveryOf(row: DeliveryRow): Delivery {
  const state = row.state as EventState
  return {
    id: row.id,
    guid: row.guid,
    eventId: row.event_id,
    event: row.event as Delivery['event'],
    action: row.action,
    deliveredAt: row.delivered_at,
    isRedelivery: row.redelivery === 1,
    durationMs: row.duration_ms,
    status: row.status,
    statusCode: row.status_code,
    state,
    nextAt: state === 'waiting' ? row.next_at : null,
  }
}
