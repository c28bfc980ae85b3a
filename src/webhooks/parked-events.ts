import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { Queue } from '../queue/queue.ts'
import type { WebhookEvent } from './delivery-store.ts'
import { enqueueDelivery } from './record-event.ts'

/** A literal, because the partial index requires it. */
const IS_PARKED = sql<boolean>`parked = 1`

/**
 * Events that wait because the limits of concurrent deliveries are reached. They have no job, so the queue does not touch them, however
 * many there are. When a delivery ends, the next webhook within the limits gets a job for its oldest parked event.
 */
export class ParkedEvents {
  readonly #parts: { db: Db; queue: Queue }
  readonly #running = new Set<DeliverySlot>()
  /** Webhooks that may have parked events, by id; the one served last is at the end. */
  readonly #waiting = new Map<number, DeliverySlot>()
  /** The number of deliveries that have ended. */
  #ended = 0

  constructor(parts: { db: Db; queue: Queue }) {
    this.#parts = parts
  }

  /** Begins a delivery. Returns a function to call at its end, or undefined if a limit is reached. */
  enter(slot: DeliverySlot): (() => void) | undefined {
    if (!this.#isWithinLimits(slot)) return undefined
    this.#running.add(slot)
    return () => {
      this.#running.delete(slot)
      this.#ended++
    }
  }

  /** Shares the concurrent deliveries fairly: neither one owner nor slow receivers can use all of them. */
  #isWithinLimits(slot: DeliverySlot): boolean {
    const running = [...this.#running]
    const ofOwner = running.filter(({ ownerId }) => ownerId === slot.ownerId)
    const toFailing = running.filter(({ isFailing }) => isFailing)
    return ofOwner.length < MAX_PER_OWNER && (!slot.isFailing || toFailing.length < MAX_TO_FAILING)
  }

  /** Parks an event in the transaction that removes its job, unless a redelivery has created another job. */
  async park(tx: Db, { id, generation }: WebhookEvent): Promise<void> {
    const update = tx.updateTable('webhook_events').set({ parked: 1 }).where('id', '=', id)
    await update.where('generation', '=', generation).where('state', '=', 'waiting').execute()
  }

  /** Called after `park` has been committed, because a delivery may have ended meanwhile. */
  async afterParking(webhookId: number, slot: DeliverySlot): Promise<void> {
    this.#waiting.set(webhookId, slot)
    await this.resumeNext()
  }

  /** Enqueues one parked event whose webhook is within the limits. Called whenever a delivery ends. */
  async resumeNext(): Promise<void> {
    for (const [webhookId, slot] of this.#waiting) {
      if (!this.#isWithinLimits(slot)) continue
      this.#waiting.delete(webhookId)
      const ended = this.#ended
      if (!(await this.#resumeOldest(webhookId))) continue
      // The webhook may have more.
      this.#waiting.set(webhookId, slot)
      // If a delivery has ended meanwhile, perhaps that of this event, it did not find the webhook among those that wait.
      if (this.#ended === ended) return
    }
  }

  /**
   * Reads from the database which webhooks have parked events, because the process that parked them may have died. Enqueues at most as
   * many events as this process can send at once. Called at the start and periodically.
   */
  async resumeFromDatabase(): Promise<void> {
    const rows = await this.#parts.db
      .selectFrom('webhooks')
      .select(['id', 'owner_id', 'failing_since'])
      .where('id', 'in', (eb) =>
        eb.selectFrom('webhook_events').select('webhook_id').where(IS_PARKED),
      )
      .execute()
    for (const { id, owner_id, failing_since } of rows)
      this.#waiting.set(id, { ownerId: owner_id, isFailing: failing_since !== null })
    for (let jobs = 0; jobs < DELIVERIES_AT_ONCE; jobs++) await this.resumeNext()
  }

  /** Returns false if the webhook has no parked event. */
  #resumeOldest(webhookId: number): Promise<boolean> {
    const { db, queue } = this.#parts
    return db.transaction().execute(async (tx) => {
      const parked = tx.selectFrom('webhook_events').select('id').where(IS_PARKED)
      const oldest = parked.where('webhook_id', '=', webhookId).orderBy('id').limit(1)
      const resumed = await tx
        .updateTable('webhook_events')
        .set({ parked: 0 })
        .where('id', '=', oldest)
        .where(IS_PARKED)
        .returning(['id as eventId', 'generation'])
        .executeTakeFirst()
      if (!resumed) return false
      await enqueueDelivery(queue, tx, { id: webhookId }, resumed)
      return true
    })
  }
}

/** Concurrent deliveries of one process. */
export const DELIVERIES_AT_ONCE = 16
/** Concurrent deliveries for one account or organization. */
const MAX_PER_OWNER = 2
/** Concurrent deliveries to webhooks whose last delivery failed: these are likely to run into the timeout. */
const MAX_TO_FAILING = DELIVERIES_AT_ONCE / 2

/** What the limits of concurrent deliveries depend on. */
type DeliverySlot = { ownerId: number; isFailing: boolean }
