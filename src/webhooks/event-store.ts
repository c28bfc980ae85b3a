import type { Db } from '../db/database.ts'
import type { DeliveredEvent } from './webhook.ts'

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
    .select(['id', 'guid', 'webhook_id as webhookId', 'event', 'action', 'facts', 'payload'])
    .select(['state', 'generation', 'attempts', 'attempts_left as attemptsLeft'])
    .select('next_at as nextAt')
    .$narrowType<{ event: DeliveredEvent['event']; state: EventState }>()
    .where('id', '=', id)
    .executeTakeFirst()
  /** The subject of the event when it occurred, as plain JSON. */
  const facts: unknown = row && JSON.parse(row.facts)
  return row && { ...row, facts }
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
