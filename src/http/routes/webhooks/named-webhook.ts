import type { FastifyRequest } from 'fastify'
import type { Webhook } from '../../../webhooks/webhook.ts'
import { findWebhook } from '../../../webhooks/webhook-store.ts'
import type { Operation } from '../../description/operation.ts'
import { auditAction } from '../../middleware/audit.ts'
import { found, idIn } from '../../middleware/named-in-path.ts'
import type { ServerParts } from '../../server-parts.ts'
import { scopeOf } from '../migrations/named-migration.ts'

/** A path that webhooks are found under. The operations are the same under each. */
export interface WebhooksPath {
  path: string
  describe(operation: Operation): Operation
}

export interface ByHook {
  Params: { hook_id: string; delivery_id?: string }
  Querystring: Record<string, unknown>
}

export type WebhookParts = Pick<
  ServerParts,
  'db' | 'queue' | 'now' | 'log' | 'rendering' | 'isWebhookAllowed'
>

/** What is refused is told as a fault of a webhook. */
export const OF_HOOK = { resource: 'Hook' as const }

/** The webhook that the path names, if it is one of that scope. */
export async function namedWebhook(
  { db }: Pick<WebhookParts, 'db'>,
  request: FastifyRequest<ByHook>,
): Promise<Webhook> {
  return found(await findWebhook(db, scopeOf(request), idIn(request.params.hook_id)))
}

/** By its host alone: the rest of an address may be as good as a password. */
export function auditWebhook(
  { log }: Pick<WebhookParts, 'log'>,
  request: FastifyRequest,
  action: string,
  { id, owner, url }: Webhook,
  more: Record<string, unknown> = {},
): void {
  const what = { webhook: id, owner: owner.login, host: new URL(url).host, ...more }
  auditAction(log, request, action, what)
}
