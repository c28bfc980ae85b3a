import { createHmac } from 'node:crypto'
import { sql } from 'kysely'
import { type Db, lockRow } from '../db/database.ts'
import { CLOCK_TOLERANCE_MS } from '../db/lease-store.ts'
import { type Handlers, type Job, type Queue, RetryLater, type Run } from '../queue/queue.ts'
import * as eventStore from './delivery-store.ts'
import { countDelivery, insertDelivery, type WebhookEvent } from './delivery-store.ts'
import { DELIVER_WEBHOOK, type DeliverJob, enqueueDelivery } from './record-event.ts'
import {
  type DeliveryOutcome,
  type SendDependencies,
  sendWebhook,
  type WebhookRequest,
} from './send-webhook.ts'
import { disableWebhook, recordLastDelivery, type Webhook, webhookById } from './webhook-store.ts'

export interface DeliverDependencies {
  db: Db
  queue: Queue
  now: () => number
  log: { info(fields: object, message: string): void }
  send: SendDependencies
  /** The version of Godwit, sent to receivers. */
  version: string
  /** Returns the JSON to send. */
  payloadOf(event: WebhookEvent, webhook: Webhook): unknown
}

/** Delivers recorded events at least once, always with the same id. `resumeParked` is called at the start and periodically. */
export function createDeliveries(dependencies: DeliverDependencies) {
  const parked = new ParkedEvents(dependencies)
  const handlers: Handlers = {
    [DELIVER_WEBHOOK]: {
      run: (job, run) => deliver(dependencies, parked, job, run),
      async onGiveUp(tx, job) {
        await eventStore.dropEvent(tx, (job.payload as DeliverJob).eventId)
        await countDelivery(tx, 'given_up')
      },
    },
  }
  return { handlers, resumeParked: () => parked.resumeFromDatabase() }
}

async function deliver(
  dependencies: DeliverDependencies,
  parked: ParkedEvents,
  job: Job,
  run: Run,
) {
  const { db, now } = dependencies
  const { eventId, generation } = job.payload as DeliverJob
  const event = await eventStore.findEvent(db, eventId)
  const webhook = event && (await webhookById(db, event.webhookId))
  // The webhook was removed, or a redelivery has created another job.
  if (!webhook || event.generation !== generation || event.state !== 'waiting')
    return run.finish(async () => {})
  // Pings and redeliveries are sent to inactive webhooks as well, because a person requested them.
  if (!webhook.isActive && event.event !== 'ping' && generation === 1)
    return run.finish((tx) => eventStore.dropEvent(tx, eventId))
  const waitMs = event.nextAt - now()
  // A longer wait than the pause means that the time was computed while the clock was wrong.
  if (waitMs > 0 && waitMs <= eventStore.pauseAfter(event.attempts) + CLOCK_TOLERANCE_MS)
    throw new RetryLater('the next attempt is later', { pauseMs: waitMs })
  const slot = { ownerId: webhook.owner.id, isFailing: webhook.failingSince !== null }
  const leave = parked.enter(slot)
  if (!leave) {
    await run.finish((tx) => parked.park(tx, event))
    return parked.afterParking(webhook.id, slot)
  }
  try {
    await send(dependencies, event, webhook, run)
  } finally {
    leave()
    await parked.resumeNext()
  }
}

async function send(
  dependencies: DeliverDependencies,
  event: WebhookEvent,
  webhook: Webhook,
  run: Run,
) {
  const payload = event.payload ?? JSON.stringify(dependencies.payloadOf(event, webhook))
  if (event.payload === null) await eventStore.storePayload(dependencies.db, event, payload)
  const request = webhookRequest(webhook, event, payload, dependencies.version)
  const deliveredAt = dependencies.now()
  const outcome = await sendWebhook(request, dependencies.send, run.signal)
  const result = resultOf(event, outcome, dependencies.now())
  await run.finish(async (tx) => {
    // A redelivery locks the webhook before the event, so the other order could deadlock.
    await lockRow(tx, 'webhooks', webhook.id)
    await insertDelivery(tx, {
      eventId: event.id,
      webhookId: webhook.id,
      deliveredAt,
      url: request.url,
      requestHeaders: request.headers,
      isRedelivery: event.attempts > 0,
      ...outcome,
    })
    if (!(await eventStore.recordAttempt(tx, event, result))) return
    await recordResult(dependencies, tx, webhook, { outcome, state: result.state, deliveredAt })
    const job = { eventId: event.id, generation: event.generation }
    if (result.state === 'waiting') await enqueueDelivery(dependencies.queue, tx, webhook, job)
  })
  logDelivery(dependencies.log, webhook, event, outcome)
}

function resultOf(event: WebhookEvent, { isDelivered }: DeliveryOutcome, now: number) {
  const attemptsLeft = event.attemptsLeft - 1
  if (isDelivered) return { state: 'delivered', attemptsLeft, nextAt: now } as const
  if (attemptsLeft <= 0) return { state: 'given_up', attemptsLeft: 0, nextAt: now } as const
  const nextAt = now + eventStore.pauseAfter(event.attempts + 1)
  return { state: 'waiting', attemptsLeft, nextAt } as const
}

async function recordResult(
  { now }: DeliverDependencies,
  tx: Db,
  webhook: Webhook,
  attempt: { outcome: DeliveryOutcome; state: WebhookEvent['state']; deliveredAt: number },
): Promise<void> {
  const { outcome, state, deliveredAt } = attempt
  const { isDelivered, status, statusCode } = outcome
  await countDelivery(tx, isDelivered ? 'delivered' : 'failed')
  const last = { at: deliveredAt, isDelivered, status, statusCode }
  const since = await recordLastDelivery(tx, webhook, last)
  if (state !== 'given_up') return
  await countDelivery(tx, 'given_up')
  if (since === null || now() - since < eventStore.DISABLED_AFTER_MS) return
  const day = new Date(since).toISOString().slice(0, 10)
  await disableWebhook(tx, webhook, `no delivery has succeeded since ${day}: ${status}`, now())
}

/** Logs the host but never the URL, which may be as good as a password. */
function logDelivery(
  log: DeliverDependencies['log'],
  { id, owner, url }: Webhook,
  { guid, event, action, attempts }: WebhookEvent,
  { isDelivered, status, statusCode, durationMs }: DeliveryOutcome,
): void {
  const what = { webhook: id, delivery: guid, owner: owner.login, event, action }
  const how = { host: new URL(url).host, try: attempts + 1, status, statusCode, ms: durationMs }
  log.info({ ...what, ...how }, isDelivered ? 'webhook delivered' : 'webhook not delivered')
}

/** Compatible with GitHub's webhooks, so that the same receivers work. */
function webhookRequest(
  webhook: Webhook,
  { guid, event }: WebhookEvent,
  payload: string,
  version: string,
): WebhookRequest {
  const { id, owner, contentType, secret, url } = webhook
  const isForm = contentType === 'form'
  const body = isForm ? String(new URLSearchParams({ payload })) : payload
  return {
    url,
    body,
    headers: {
      accept: '*/*',
      'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
      'user-agent': `Godwit-Hookshot/${version}`,
      'x-github-delivery': guid,
      'x-github-event': event,
      'x-github-hook-id': String(id),
      'x-github-hook-installation-target-id': String(owner.id),
      'x-github-hook-installation-target-type':
        owner.type === 'Organization' ? 'organization' : 'user',
      ...(secret !== null && {
        'x-hub-signature': `sha1=${signature('sha1', secret, body)}`,
        'x-hub-signature-256': `sha256=${signature('sha256', secret, body)}`,
      }),
    },
  }
}

const signature = (algorithm: 'sha1' | 'sha256', secret: string, body: string): string =>
  createHmac(algorithm, secret).update(body).digest('hex')

/** A literal, because the partial index requires it. */
const IS_PARKED = sql<boolean>`parked = 1`

/**
 * Events that wait because the limits of concurrent deliveries are reached. They have no job, so the queue does not touch them, however
 * many there are. When a delivery ends, the next webhook within the limits gets a job for its oldest parked event.
 */
export class ParkedEvents {
  readonly #dependencies: { db: Db; queue: Queue }
  readonly #running = new Set<DeliverySlot>()
  /** Webhooks that may have parked events, by id; the one served last is at the end. */
  readonly #waiting = new Map<number, DeliverySlot>()
  /** The number of deliveries that have ended. */
  #ended = 0

  constructor(dependencies: { db: Db; queue: Queue }) {
    this.#dependencies = dependencies
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
    const rows = await this.#dependencies.db
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
    const { db, queue } = this.#dependencies
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
