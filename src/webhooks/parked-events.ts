import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { Queue } from '../queue/queue.ts'
import type { WebhookEvent } from './event-store.ts'
import { enqueueDelivery } from './record-event.ts'
import type { Webhook } from './webhook.ts'

interface ParkedParts {
  db: Db
  queue: Queue
}

/** Written out, as the partial index of parked events requires. */
const IS_PARKED = sql<boolean>`parked = 1`

/**
 * The events that wait for a free place in this process's lanes. They have no job, so however many there are, the queue does
 * not touch them. When a delivery ends, the next webhook in turn that has room gets a job for its oldest parked event.
 */
export class ParkedEvents {
  readonly #parts: ParkedParts
  readonly #lanes: DeliveryLimits
  /** Webhooks that may have parked events, by id; whoever was served last is at the end. */
  readonly #waiting = new Map<number, Sending>()

  constructor(parts: ParkedParts, lanes: DeliveryLimits) {
    this.#parts = parts
    this.#lanes = lanes
  }

  /** Parks an event in the transaction that removes its job. A redelivery since then has a job of its own. */
  async park(tx: Db, { id, turn }: WebhookEvent): Promise<void> {
    await tx
      .updateTable('webhook_events')
      .set({ parked: 1 })
      .where('id', '=', id)
      .where('turn', '=', turn)
      .where('state', '=', 'waiting')
      .execute()
  }

  /** To be called after `park` has been committed: a place may have become free meanwhile. */
  async noteParked(webhookId: number, sending: Sending): Promise<void> {
    this.#waiting.set(webhookId, sending)
    await this.resumeNext()
  }

  /** Gives one parked event a job, if there is one whose webhook has room. To be called whenever a place becomes free. */
  async resumeNext(): Promise<void> {
    for (const [webhookId, sending] of this.#waiting) {
      if (!this.#lanes.hasRoom(sending)) continue
      this.#waiting.delete(webhookId)
      if (!(await resumeOldest(this.#parts, webhookId))) continue
      // There may be more of them.
      this.#waiting.set(webhookId, sending)
      return
    }
  }

  /**
   * Finds webhooks whose events were parked by a process that has died, and gives as many events a job as this process can send
   * at once. To be called at the start and now and then.
   */
  async resumeAll(): Promise<void> {
    const rows = await this.#parts.db
      .selectFrom('webhooks')
      .select(['id', 'owner_id', 'failing_since'])
      .where('id', 'in', (parked) =>
        parked.selectFrom('webhook_events').select('webhook_id').where(IS_PARKED),
      )
      .execute()
    for (const { id, owner_id, failing_since } of rows)
      this.#waiting.set(id, { ownerId: owner_id, isFailing: failing_since !== null })
    for (let jobs = 0; jobs < DELIVERIES_AT_ONCE; jobs++) await this.resumeNext()
  }
}

/** False where the webhook has no parked event. */
async function resumeOldest(
  { db, queue }: ParkedParts,
  webhookId: Webhook['id'],
): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    const resumed = await tx
      .updateTable('webhook_events')
      .set({ parked: 0 })
      .where('id', '=', (parked) =>
        parked
          .selectFrom('webhook_events')
          .select('id')
          .where('webhook_id', '=', webhookId)
          .where(IS_PARKED)
          .orderBy('id')
          .limit(1),
      )
      .where(IS_PARKED)
      .returning(['id', 'turn'])
      .executeTakeFirst()
    if (!resumed) return false
    await enqueueDelivery(queue, tx, { id: webhookId }, { eventId: resumed.id, turn: resumed.turn })
    return true
  })
}

/** How many are sent at the same time by one process. */
export const DELIVERIES_AT_ONCE = 16
/** Of one account or organization. */
const OF_ONE_OWNER = 2
/** To webhooks whose last delivery failed: these are likely to take as long as they may. */
const TO_FAILING = DELIVERIES_AT_ONCE / 2

export interface Sending {
  ownerId: number
  isFailing: boolean
}

/** Room to send, shared fairly: neither one owner nor all the receivers that hang can take all of it. */
export class DeliveryLimits {
  readonly #underWay = new Set<Sending>()

  hasRoom(sending: Sending): boolean {
    const count = (isLike: (other: Sending) => boolean) =>
      this.#underWay.values().filter(isLike).toArray().length
    if (count(({ ownerId }) => ownerId === sending.ownerId) >= OF_ONE_OWNER) return false
    return !sending.isFailing || count(({ isFailing }) => isFailing) < TO_FAILING
  }

  /** To be called at the end; undefined where there is no room now. */
  enter(sending: Sending): (() => void) | undefined {
    if (!this.hasRoom(sending)) return undefined
    this.#underWay.add(sending)
    return () => this.#underWay.delete(sending)
  }
}
