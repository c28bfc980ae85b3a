import type { FastifyRequest } from 'fastify'
import { NotFound } from '../../migrations/refusals.ts'
import type { Webhook } from '../../webhooks/webhook.ts'
import { findWebhook } from '../../webhooks/webhook-store.ts'
import type { Operation } from '../description/operation.ts'
import { auditAction } from '../door/audit.ts'
import { scopeOf } from '../migrations/named-migration.ts'
import type { ServerParts } from '../server-parts.ts'

/** A path that webhooks are found under. The operations are the same under each. */
export interface WebhooksPlace {
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

/** The webhook that the path names, if it is one of that scope. An id that is no number names none. */
export async function namedWebhook(
  { db }: Pick<WebhookParts, 'db'>,
  request: FastifyRequest<ByHook>,
): Promise<Webhook> {
  const id = idIn(request.params.hook_id)
  const found = id === undefined ? undefined : await findWebhook(db, scopeOf(request), id)
  if (!found) throw new NotFound()
  return found
}

export const idIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined

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
