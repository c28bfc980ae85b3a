import type { Db } from '../db/database.ts'
import type { Row, WebhookEventsTable } from '../db/tables.ts'
import type { DeliveredEvent } from './webhook.ts'

export type EventState = 'waiting' | 'delivered' | 'given up'

/** What is to be told to one webhook, and how far that has come. */
export interface WebhookEvent extends DeliveredEvent {
  id: number
  /** The same at every try: a receiver knows by it what it has had already. */
  guid: string
  webhookId: number
  facts: unknown
  /** What is sent, once it was made. */
  payload: string | null
  state: EventState
  turn: number
  tries: number
  triesLeft: number
  nextAt: number
}

export async function findEvent(db: Db, id: number): Promise<WebhookEvent | undefined> {
  const row = await db
    .selectFrom('webhook_events')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  return row && eventOf(row)
}

/** Before it is first sent: whatever happens then, it is the same next time. */
export async function storePayload(db: Db, { id }: WebhookEvent, payload: string): Promise<void> {
  await db
    .updateTable('webhook_events')
    .set({ payload })
    .where('id', '=', id)
    .where('payload', 'is', null)
    .execute()
}

export interface AttemptResult {
  state: EventState
  triesLeft: number
  nextAt: number
}

/** False where it was asked for again meanwhile: that is another turn's to note. */
export async function recordAttempt(
  tx: Db,
  { id, tries, turn }: WebhookEvent,
  { state, triesLeft, nextAt }: AttemptResult,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('webhook_events')
    .set({ state, tries: tries + 1, tries_left: triesLeft, next_at: nextAt })
    .where('id', '=', id)
    .where('turn', '=', turn)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Nothing was sent and nothing will be. */
export async function dropEvent(tx: Db, id: number): Promise<void> {
  await tx
    .updateTable('webhook_events')
    .set({ state: 'given up', tries_left: 0 })
    .where('id', '=', id)
    .where('state', '=', 'waiting')
    .execute()
}

function eventOf(row: Row<WebhookEventsTable>): WebhookEvent {
  return {
    id: row.id,
    guid: row.guid,
    webhookId: row.webhook_id,
    event: row.event as WebhookEvent['event'],
    action: row.action,
    facts: JSON.parse(row.facts),
    payload: row.payload,
    state: row.state as EventState,
    turn: row.turn,
    tries: row.tries,
    triesLeft: row.tries_left,
    nextAt: row.next_at,
  }
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Pauses after each try that failed: soon at first, and for about a day in all. */
const PAUSES = [
  10 * SECOND,
  MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  HOUR,
  2 * HOUR,
  4 * HOUR,
  8 * HOUR,
  8 * HOUR,
]

export const MAX_TRIES = PAUSES.length + 1

/** How far clocks of several machines may differ before a time counts as wrong. */
export const CLOCK_TOLERANCE_MS = MINUTE

/** After so many tries. */
export const pauseAfter = (tries: number): number =>
  PAUSES[Math.min(tries, PAUSES.length) - 1] ?? SECOND

/** A webhook that fails for as long as this, without any success between, is made inactive. */
export const DISABLED_AFTER_MS = 7 * 24 * HOUR
