import type * as wire from '@godwit/contract/schemas/types'
import type { components } from '@octokit/openapi-types'
import type { Account } from '../../../accounts/account.ts'
import type { EndedMigration } from '../../../migrations/end-migration.ts'
import type { Addresses } from '../../../repositories/addresses.ts'
import type { Delivery, FullDelivery, WebhookEvent } from '../../../webhooks/delivery-store.ts'
import type { PingSubject } from '../../../webhooks/manage-webhooks.ts'
import type { Webhook } from '../../../webhooks/webhook-store.ts'
import { migrationJson, scopeAddress, summaryJson } from '../../rendering/migration-json.ts'
import { organizationJson } from '../../rendering/organization-json.ts'
import { type Rendering, utcTimestamp, utcTimestampOrNull } from '../../rendering/rendering.ts'
import { userJson } from '../../rendering/user-json.ts'

type Schemas = components['schemas']

/** Sent instead of a secret. */
export const HIDDEN = '********'

export function webhookJson(webhook: Webhook, addresses: Addresses) {
  const url = `${scopeAddress(webhook.owner, addresses)}/hooks/${webhook.id}`
  return {
    type: webhook.owner.type,
    id: webhook.id,
    name: 'web' as const,
    active: webhook.isActive,
    events: [...webhook.events],
    config: webhookConfigJson(webhook),
    created_at: utcTimestamp(webhook.createdAt),
    updated_at: utcTimestamp(webhook.updatedAt),
    url,
    ping_url: `${url}/pings`,
    deliveries_url: `${url}/deliveries`,
    last_response: lastResponseJson(webhook),
    disabled_reason: webhook.disabledReason,
  } satisfies Schemas['org-hook'] & wire.Webhook
}

export const webhookConfigJson = ({ url, contentType, secret }: Webhook) =>
  ({
    url,
    content_type: contentType,
    insecure_ssl: '0' as const,
    ...(secret !== null && { secret: HIDDEN }),
  }) satisfies Schemas['webhook-config'] & wire.WebhookConfig

function lastResponseJson({ lastDelivery, failingSince }: Webhook): wire.Webhook['last_response'] {
  if (!lastDelivery) return { code: null, status: 'unused', message: null }
  const { statusCode: code, status: message } = lastDelivery
  return { code, status: failingSince === null ? 'active' : 'failing', message }
}

export const deliveryJson = (delivery: Delivery) =>
  ({
    id: delivery.id,
    guid: delivery.guid,
    delivered_at: utcTimestamp(delivery.deliveredAt),
    redelivery: delivery.isRedelivery,
    duration: delivery.durationMs / 1000,
    status: delivery.status,
    status_code: delivery.statusCode,
    event: delivery.event,
    action: delivery.action,
    installation_id: null,
    repository_id: null,
    throttled_at: null,
    state: delivery.state,
    next_attempt_at: utcTimestampOrNull(delivery.nextAt),
    migration_id:
      delivery.event === 'ping' ? null : (delivery.subject as EndedMigration).summary.id,
  }) satisfies Schemas['hook-delivery-item'] & wire.WebhookDelivery

export function fullDeliveryJson(delivery: FullDelivery) {
  const { url, requestHeaders, payload, response } = delivery
  return {
    ...deliveryJson(delivery),
    url,
    request: { headers: requestHeaders, payload: JSON.parse(payload) as Record<string, unknown> },
    response: { headers: response?.headers ?? null, payload: response?.body ?? null },
  } satisfies Schemas['hook-delivery'] & wire.FullWebhookDelivery
}

const ZEN = 'Nothing dropped.'

/** Returns a function that renders the payload of an event: GitHub's objects, and the account that caused it. */
export function webhookPayload(rendering: Rendering) {
  const { addresses } = rendering
  const accountsJson = (sender: Account, owner: Account) => ({
    sender: userJson(sender, addresses),
    ...(owner.type === 'Organization' && { organization: organizationJson(owner, addresses) }),
  })
  return ({ event, action, subject }: WebhookEvent, webhook: Webhook): Record<string, unknown> => {
    const { owner } = webhook
    if (event === 'ping') {
      const { sender } = subject as PingSubject
      const hook = webhookJson(webhook, addresses)
      return { zen: ZEN, hook_id: webhook.id, hook, ...accountsJson(sender, owner) }
    }
    const { summary, startedBy } = subject as EndedMigration
    return {
      action: action as wire.WebhookEvent['action'],
      migration: migrationJson(summary, [], rendering, owner),
      summary: summaryJson(summary),
      ...accountsJson(startedBy, owner),
    } satisfies wire.WebhookEvent
  }
}
