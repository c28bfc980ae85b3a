import type { Account } from '../accounts/account.ts'
import type { Scope } from '../accounts/scope.ts'
import type { Db } from '../db/database.ts'
import type { Queue } from '../queue/queue.ts'
import { tellAgain } from './event-store.ts'
import { batchOfWebhook, tellWebhook } from './note-event.ts'
import type { Webhook, WebhookSettings } from './webhook.ts'
import { changeWebhook, deleteWebhook, insertWebhook, listWebhooks } from './webhook-store.ts'

interface ManageParts {
  db: Db
  queue: Queue
  now: () => number
}

/** Of one account or organization. */
export const MAX_WEBHOOKS = 20

/** What a ping tells beside the webhook itself. */
export interface PingFacts {
  sender: Account
}

/** A ping goes out to the new webhook. Undefined where there are too many already. */
export async function addWebhook(
  parts: ManageParts,
  scope: Scope,
  settings: WebhookSettings,
  ping: PingFacts,
): Promise<Webhook | undefined> {
  const { db, queue, now } = parts
  const added = await db.transaction().execute(async (tx) => {
    // One after the other, on both engines.
    await tx
      .updateTable('accounts')
      .set((row) => ({ login_key: row.ref('login_key') }))
      .where('id', '=', scope.owner.id)
      .execute()
    if ((await listWebhooks(tx, scope)).length >= MAX_WEBHOOKS) return undefined
    const webhook = await insertWebhook(tx, scope, settings, now())
    if (settings.isActive) await sendPing(parts, tx, webhook, ping)
    return webhook
  })
  queue.wake('webhooks')
  return added
}

export async function editWebhook(
  { db, now }: ManageParts,
  webhook: Webhook,
  settings: WebhookSettings,
): Promise<Webhook> {
  const updatedAt = now()
  await changeWebhook(db, webhook, settings, updatedAt)
  return { ...webhook, ...settings, updatedAt, failingSince: null, disabledReason: null }
}

/** With everything that was still to be sent. */
export async function removeWebhook({ db, queue }: ManageParts, webhook: Webhook): Promise<void> {
  const batch = batchOfWebhook(webhook)
  await db.transaction().execute(async (tx) => {
    await deleteWebhook(tx, webhook)
    await queue.cancel(tx, batch)
  })
  queue.interrupt(batch)
}

export async function pingWebhook(
  parts: ManageParts,
  webhook: Webhook,
  ping: PingFacts,
): Promise<void> {
  await parts.db.transaction().execute((tx) => sendPing(parts, tx, webhook, ping))
  parts.queue.wake('webhooks')
}

/** Once: whoever asks for it looks at what becomes of it. */
const sendPing = (parts: ManageParts, tx: Db, webhook: Webhook, facts: PingFacts): Promise<void> =>
  tellWebhook(parts, tx, webhook, { event: 'ping', action: null, facts }, 1)

/** Sends what was sent before, under the same id. */
export async function redeliver(
  { db, queue, now }: ManageParts,
  webhook: Webhook,
  eventId: number,
): Promise<void> {
  await db.transaction().execute((tx) => tellAgain(tx, queue, webhook, { id: eventId }, now()))
  queue.wake('webhooks')
}
