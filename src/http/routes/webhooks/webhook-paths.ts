import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Webhook } from '../../../webhooks/webhook.ts'
import { findWebhook } from '../../../webhooks/webhook-store.ts'
import type { Operation } from '../../description/operation.ts'
import { requireFound, requireId, type WithQuery } from '../../middleware/request.ts'
import type { ServerParts } from '../../server-parts.ts'
import { type MigrationsPath, scopeOf } from '../migrations/migration-paths.ts'
import { describeForOrganization } from '../organizations/organization-path.ts'

/** A path prefix for the routes of webhooks. The same routes are registered under each. */
type WebhooksPath = Pick<MigrationsPath, 'path' | 'options'>

export const CALLER_WEBHOOKS_PATH: WebhooksPath = { path: '/user/hooks', options: (route) => route }

export const ORGANIZATION_WEBHOOKS_PATH: WebhooksPath = {
  path: '/orgs/:org/hooks',
  options: ({ schema, config }) => ({ schema: forOrganization(schema), config }),
}

/** GitHub's ids of these operations begin with `orgs/` for an organization, and some end with `-for-org`. */
function forOrganization(operation: Operation): Operation {
  const name = operation.operationId.replace('users/', '')
  const suffix = name.endsWith('-config') ? '-for-org' : ''
  return describeForOrganization(operation, `orgs/${name}${suffix}`)
}

export type ByHook = WithQuery & { Params: { hook_id: string; delivery_id?: string } }

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

/** Returns the webhook that the path names; throws 404 if the scope has no such webhook. */
export const webhookInPath = async (
  { db }: Pick<WebhookParts, 'db'>,
  request: FastifyRequest<ByHook>,
): Promise<Webhook> =>
  requireFound(await findWebhook(db, scopeOf(request), requireId(request.params.hook_id)))

/** Returns what the audit log says about a webhook: only the host of the URL, because the rest may contain a credential. */
export const aboutWebhook = (
  { id, owner, url }: Pick<Webhook, 'id' | 'owner' | 'url'>,
  more = {},
) => ({
  subject: `webhook ${id}`,
  owner,
  details: { webhook: id, host: new URL(url).host, ...more },
})
