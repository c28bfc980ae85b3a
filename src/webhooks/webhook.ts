import type { Account } from '../accounts/account.ts'

export const contentTypes = ['json', 'form'] as const
export type ContentType = (typeof contentTypes)[number]

/** How a migration may end, as a webhook is told. */
export const migrationActions = ['exported', 'partial', 'failed', 'cancelled'] as const
export type MigrationAction = (typeof migrationActions)[number]

/** What a webhook may be told of: everything, all ends of migrations, or one way to end. */
export const subscriptions = [
  '*',
  'migration',
  ...migrationActions.map((action) => `migration.${action}` as const),
] as const
export type Subscription = (typeof subscriptions)[number]

/** An address that is told of what happens to an account's migrations, or to an organization's. */
export interface Webhook extends WebhookSettings {
  id: number
  owner: Account
  createdAt: number
  updatedAt: number
  /** Since the first of those failures that no success came after. */
  failingSince: number | null
  /** Why Godwit made it inactive, where it did. */
  disabledReason: string | null
  lastDelivery: LastDelivery | null
}

export interface WebhookSettings {
  url: string
  contentType: ContentType
  /** Signs what is sent. Never shown, never logged. */
  secret: string | null
  events: readonly Subscription[]
  isActive: boolean
}

export interface LastDelivery {
  at: number
  statusCode: number
  status: string
}

/** What is told. */
export interface DeliveredEvent {
  event: 'migration' | 'ping'
  action: string | null
}

/** A ping is a question of whoever owns the webhook: it is for all. */
export const isSubscribed = (
  { events }: Pick<Webhook, 'events'>,
  { event, action }: DeliveredEvent,
): boolean =>
  event === 'ping' ||
  events.includes('*') ||
  events.includes(event) ||
  events.includes(`${event}.${action}` as Subscription)

/** What the owner asks for would be more than one webhook may have; the message says what, and nothing was changed. */
export class WebhookLimitReached extends Error {
  override name = 'WebhookLimitReached'
}
