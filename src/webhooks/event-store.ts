import type { Db } from '../db/database.ts'
import type { Row, WebhookEventsTable } from '../db/tables.ts'
import type { DeliveredEvent } from './webhook.ts'

export type EventState = 'waiting' | 'delivered' | 'given up'

/** An event to be delivered to one webhook. */
export interface WebhookEvent extends DeliveredEvent {
  id: number
  /** The same at every attempt, so that a receiver can recognize duplicates. */
  guid: string
  webhookId: number
  facts: unknown
  /** The JSON to send; null before the first attempt. */
  payload: string | null
  state: EventState
  /** Incremented with every redelivery: jobs with an earlier number are void. */
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

/** Called before the first attempt, so that all attempts send the same payload. */
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

/** Returns false if a redelivery was requested since: its job records the result then. */
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

/** Gives up an event without an attempt. */
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

/** Pauses after failed attempts, about a day in total. */
const RETRY_PAUSES = [
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

export const MAX_TRIES = RETRY_PAUSES.length + 1

/** How far the clocks of several machines may differ before a time counts as wrong. */
export const CLOCK_TOLERANCE_MS = MINUTE

/** The pause after so many attempts. */
export const pauseAfter = (tries: number): number =>
  RETRY_PAUSES[Math.min(tries, RETRY_PAUSES.length) - 1] ?? SECOND

/** A webhook is deactivated after failing for so long without a success. */
export const DISABLED_AFTER_MS = 7 * 24 * HOUR
