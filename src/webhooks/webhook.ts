import type { Account } from '../accounts/account.ts'

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
export interface Webhook extends WebhookSettings {
  id: number
  owner: Account
  createdAt: number
  updatedAt: number
  /** The time of the first failure since the last success. */
  failingSince: number | null
  /** Why Godwit deactivated it. */
  disabledReason: string | null
  lastDelivery: LastDelivery | null
}

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
