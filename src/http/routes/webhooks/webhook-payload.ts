import type { Account } from '../../../accounts/account.ts'
import type { EndedMigration } from '../../../migrations/end-migration.ts'
import type { WebhookEvent } from '../../../webhooks/event-store.ts'
import type { PingFacts } from '../../../webhooks/manage-webhooks.ts'
import type { Webhook } from '../../../webhooks/webhook.ts'
import type * as wire from '../../../wire/types.ts'
import type { Rendering } from '../../rendering.ts'
import { migrationJson } from '../migrations/migration-json.ts'
import { summaryJson } from '../migrations/summary-json.ts'
import { organizationJson } from '../organizations/organization-json.ts'
import { userJson } from '../users/user-json.ts'
import { webhookJson } from './webhook-json.ts'

const ZEN = 'Nothing dropped.'

/** What a webhook is sent: the wire's own records, and who did it. */
export function webhookPayload(rendering: Rendering) {
  const { addresses } = rendering
  const people = (sender: Account, owner: Account) => ({
    sender: userJson(sender, addresses),
    ...(owner.type === 'Organization' && { organization: organizationJson(owner, addresses) }),
  })
  return ({ event, action, facts }: WebhookEvent, webhook: Webhook): Record<string, unknown> => {
    const { owner } = webhook
    if (event === 'ping') {
      const { sender } = facts as PingFacts
      const hook = webhookJson(webhook, addresses)
      return { zen: ZEN, hook_id: webhook.id, hook, ...people(sender, owner) }
    }
    const { summary, startedBy } = facts as EndedMigration
    return {
      action: action as wire.WebhookEvent['action'],
      migration: migrationJson(summary, [], rendering),
      summary: summaryJson(summary),
      ...people(startedBy, owner),
    } satisfies wire.WebhookEvent
  }
}
