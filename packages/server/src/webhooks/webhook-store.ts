import type { Account, Scope } from '../accounts/account.ts'
import { findAccountsById } from '../accounts/account-store.ts'
import { type Db, type Row, updateRow } from '../db/database.ts'

/** How a migration may end: the `action` of its event. */
const migrationActions = ['exported', 'partial', 'failed', 'cancelled'] as const
export type MigrationAction = (typeof migrationActions)[number]

/** Events that a webhook can subscribe to: all, all ends of migrations, or one way to end. */
export const subscriptions = [
  '*',
  'migration',
  ...migrationActions.map((action) => `migration.${action}` as const),
] as const
export type Subscription = (typeof subscriptions)[number]

/** A URL that receives events about the migrations of a person or an organization. */
export type Webhook = ReturnType<typeof webhookOf>

export interface WebhookSettings {
  url: string
  contentType: 'json' | 'form'
  /** Signs requests. Never shown, never logged. */
  secret: string | null
  events: readonly Subscription[]
  isActive: boolean
}

export type LastDelivery = { at: number; statusCode: number; status: string }

export type DeliveredEvent = { event: 'migration' | 'ping'; action: string | null }

export const isSubscribed = ({ events }: Webhook, { event, action }: DeliveredEvent): boolean =>
  (['*', event, `${event}.${action}`] as Subscription[]).some((each) => events.includes(each))

export async function insertWebhook(
  tx: Db,
  { owner }: Scope,
  settings: WebhookSettings,
  now: number,
): Promise<Webhook> {
  const row = await tx
    .insertInto('webhooks')
    .values({ owner_id: owner.id, ...columnsOf(settings), created_at: now, updated_at: now })
    .returningAll()
    .executeTakeFirstOrThrow()
  return webhookOf(row, owner)
}

/** Oldest first. */
export async function listWebhooks(db: Db, { owner }: Scope): Promise<Webhook[]> {
  const query = db.selectFrom('webhooks').selectAll().where('owner_id', '=', owner.id).orderBy('id')
  const rows = await query.execute()
  return rows.map((row) => webhookOf(row, owner))
}

export async function findWebhook(db: Db, { owner }: Scope, id: number) {
  const found = db.selectFrom('webhooks').selectAll().where('id', '=', id)
  const row = await found.where('owner_id', '=', owner.id).executeTakeFirst()
  return row && webhookOf(row, owner)
}

/** Finds a webhook of any owner, for its deliveries. */
export async function webhookById(db: Db, id: number): Promise<Webhook | undefined> {
  const row = await db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) return undefined
  const accounts = await findAccountsById(db, [row.owner_id])
  return webhookOf(row, accounts.get(row.owner_id)!)
}

/** Resets `failing_since`. A webhook that stays inactive keeps its reason. */
export async function updateWebhook(
  tx: Db,
  { id }: Webhook,
  settings: WebhookSettings,
  now: number,
): Promise<void> {
  await updateRow(tx, 'webhooks', id, {
    ...columnsOf(settings),
    updated_at: now,
    failing_since: null,
    ...(settings.isActive && { disabled_reason: null }),
  })
}

export async function deleteWebhook(tx: Db, { id }: Webhook): Promise<void> {
  await tx.deleteFrom('webhooks').where('id', '=', id).execute()
  await tx.deleteFrom('webhook_deliveries').where('webhook_id', '=', id).execute()
  await tx.deleteFrom('webhook_events').where('webhook_id', '=', id).execute()
}

/**
 * Records the result of the last delivery. Returns since when the webhook has been failing; null if it is not, or if it was changed since
 * the caller read it, because the delivery used the old settings.
 */
export async function recordLastDelivery(
  tx: Db,
  { id, updatedAt }: Webhook,
  { isDelivered, ...last }: LastDelivery & { isDelivered: boolean },
): Promise<number | null> {
  const updated = await tx
    .updateTable('webhooks')
    .set((eb) => ({
      last_delivery: JSON.stringify(last),
      failing_since: isDelivered ? null : eb.fn.coalesce('failing_since', eb.val(last.at)),
    }))
    .where('id', '=', id)
    .where('updated_at', '=', updatedAt)
    .returning('failing_since')
    .executeTakeFirst()
  if (updated) return updated.failing_since
  await recordOldDelivery(tx, id, last)
  return null
}

/** Records a delivery with old settings as the last one, unless a later one was recorded. */
async function recordOldDelivery(tx: Db, id: number, last: LastDelivery): Promise<void> {
  const webhook = tx.selectFrom('webhooks').where('id', '=', id)
  const row = await webhook.select('last_delivery').executeTakeFirst()
  const stored = row?.last_delivery ? (JSON.parse(row.last_delivery) as LastDelivery) : undefined
  if (stored && stored.at > last.at) return
  await updateRow(tx, 'webhooks', id, { last_delivery: JSON.stringify(last) })
}

export async function disableWebhook(
  tx: Db,
  { id }: Webhook,
  disabled_reason: string,
  now: number,
): Promise<void> {
  await updateRow(tx, 'webhooks', id, { active: 0, disabled_reason, updated_at: now })
}

const columnsOf = ({ url, contentType, secret, events, isActive }: WebhookSettings) => ({
  url,
  content_type: contentType,
  secret,
  events: JSON.stringify(events),
  active: Number(isActive),
})

const webhookOf = (row: Row<'webhooks'>, owner: Account) => ({
  id: row.id,
  owner,
  url: row.url,
  contentType: row.content_type as WebhookSettings['contentType'],
  secret: row.secret,
  events: JSON.parse(row.events) as Subscription[],
  isActive: row.active === 1,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  /** The time of the first failure since the last success. */
  failingSince: row.failing_since,
  /** Why Godwit deactivated it. */
  disabledReason: row.disabled_reason,
  lastDelivery: row.last_delivery === null ? null : (JSON.parse(row.last_delivery) as LastDelivery),
})
