import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Webhook } from '../../../webhooks/webhook.ts'
import { findWebhook } from '../../../webhooks/webhook-store.ts'
import type { Operation } from '../../description/operation.ts'
import { requireFound, requireId } from '../../middleware/path-parameters.ts'
import { auditAction } from '../../middleware/request-log.ts'
import type { ServerParts } from '../../server-parts.ts'
import { scopeOf } from '../migrations/migration-paths.ts'
import { describedForOrganization } from '../organizations/organization-path.ts'

/** A path prefix for the routes of webhooks. The same routes are registered under each. */
export interface WebhooksPath {
  path: string
  describe(operation: Operation): Operation
}

export const CALLER_WEBHOOKS_PATH: WebhooksPath = {
  path: '/user/hooks',
  describe: (operation) => operation,
}

export const ORGANIZATION_WEBHOOKS_PATH: WebhooksPath = {
  path: '/orgs/:org/hooks',
  describe: forOrganization,
}

/** GitHub names the operations of an organization differently. */
function forOrganization(operation: Operation): Operation {
  const name = operation.operationId.replace('users/', '')
  const suffix = name.endsWith('-config') ? '-for-org' : ''
  return describedForOrganization(operation, `orgs/${name}${suffix}`)
}

export interface ByHook {
  Params: { hook_id: string; delivery_id?: string }
  Querystring: Record<string, unknown>
}

export type WebhookParts = Pick<
  ServerParts,
  'db' | 'queue' | 'now' | 'log' | 'rendering' | 'isWebhookAllowed'
>

/** Registers routes under a path. */
export type AddWebhookRoutes = (
  app: FastifyInstance,
  parts: WebhookParts,
  webhooksPath: WebhooksPath,
) => void

/** The route config of operations whose validation errors name the resource `Hook`. */
export const HOOK_CONFIG = { resource: 'Hook' as const }

/** Returns the webhook that the path names; throws 404 if the scope has no such webhook. */
export async function webhookInPath(
  { db }: Pick<WebhookParts, 'db'>,
  request: FastifyRequest<ByHook>,
): Promise<Webhook> {
  return requireFound(await findWebhook(db, scopeOf(request), requireId(request.params.hook_id)))
}

/** Logs only the host of the URL: the rest may contain a credential. */
export function auditWebhook(
  { log }: Pick<WebhookParts, 'log'>,
  request: FastifyRequest,
  action: string,
  { id, owner, url }: Webhook,
  more: Record<string, unknown> = {},
): void {
  const fields = { webhook: id, owner: owner.login, host: new URL(url).host, ...more }
  auditAction(log, request, action, fields)
}
