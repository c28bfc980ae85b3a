import type { FastifyInstance, FastifyRequest } from 'fastify'
import { InvalidRequest } from '../../../migrations/errors.ts'
import {
  addWebhook,
  editWebhook,
  MAX_WEBHOOKS,
  type PingFacts,
  pingWebhook,
  removeWebhook,
} from '../../../webhooks/manage-webhooks.ts'
import type { Webhook, WebhookSettings } from '../../../webhooks/webhook.ts'
import { listWebhooks } from '../../../webhooks/webhook-store.ts'
import type * as wire from '../../../wire/types.ts'
import { answerPageOf } from '../../answer-page.ts'
import { viewerOf } from '../../middleware/authenticate.ts'
import { answer, answerIfChanged } from '../../middleware/json-answer.ts'
import { scopeOf } from '../migrations/named-migration.ts'
import {
  auditWebhook,
  type ByHook,
  OF_HOOK as config,
  namedWebhook,
  type WebhookParts,
  type WebhooksPath,
} from './named-webhook.ts'
import { settingsFrom } from './webhook-body.ts'
import { webhookDeliveries } from './webhook-deliveries.ts'
import { webhookConfigJson, webhookJson } from './webhook-json.ts'
import * as operations from './webhooks-operations.ts'

export const WEBHOOKS_OF_CALLER: WebhooksPath = {
  path: '/user/hooks',
  describe: (operation) => operation,
}

export const WEBHOOKS_OF_ORGANIZATION: WebhooksPath = {
  path: '/orgs/:org/hooks',
  describe: operations.forOrganization,
}

export function webhooks(app: FastifyInstance, parts: WebhookParts, place: WebhooksPath): void {
  addAndList(app, parts, place)
  readAndChange(app, parts, place)
  configOnly(app, parts, place)
  webhookDeliveries(app, parts, place)
}

function addAndList(
  app: FastifyInstance,
  parts: WebhookParts,
  { path, describe }: WebhooksPath,
): void {
  const { db, rendering } = parts
  const { addresses } = rendering
  app.get<{ Querystring: Record<string, unknown> }>(
    path,
    { schema: describe(operations.listWebhooks) },
    async (request, reply) => {
      const all = await listWebhooks(db, scopeOf(request))
      return answerPageOf(request, reply, addresses, all, (each) => webhookJson(each, addresses))
    },
  )

  app.post<{ Body: wire.WebhookRequest }>(
    path,
    { config, schema: describe(operations.createWebhook) },
    async (request, reply) => {
      const settings = settingsFrom(request.body, undefined, parts.isWebhookAllowed)
      const added = await addWebhook(parts, scopeOf(request), settings, pingOf(request))
      if (!added) throw tooMany()
      auditWebhook(parts, request, 'webhook.create', added)
      const body = webhookJson(added, addresses)
      return answer(reply.code(201).header('location', body.url), body)
    },
  )
}

function readAndChange(
  app: FastifyInstance,
  parts: WebhookParts,
  { path, describe }: WebhooksPath,
): void {
  const { addresses } = parts.rendering
  app.get<ByHook>(
    `${path}/:hook_id`,
    { schema: describe(operations.getWebhook) },
    async (request, reply) => {
      const found = await namedWebhook(parts, request)
      return answerIfChanged(request, reply, webhookJson(found, addresses))
    },
  )

  app.patch<ByHook & { Body: wire.WebhookChange }>(
    `${path}/:hook_id`,
    { config, schema: describe(operations.updateWebhook) },
    async (request, reply) => {
      const changed = await change(parts, request, request.body)
      return answer(reply, webhookJson(changed, addresses))
    },
  )

  app.delete<ByHook>(
    `${path}/:hook_id`,
    { schema: describe(operations.deleteWebhook) },
    async (request, reply) => {
      const found = await namedWebhook(parts, request)
      await removeWebhook(parts, found)
      auditWebhook(parts, request, 'webhook.delete', found)
      return reply.code(204).send()
    },
  )

  app.post<ByHook>(
    `${path}/:hook_id/pings`,
    { config, schema: describe(operations.pingWebhook) },
    async (request, reply) => {
      const found = await namedWebhook(parts, request)
      await pingWebhook(parts, found, pingOf(request))
      auditWebhook(parts, request, 'webhook.ping', found)
      return reply.code(204).send()
    },
  )
}

/** GitHub has these of their own as well. */
function configOnly(
  app: FastifyInstance,
  parts: WebhookParts,
  { path, describe }: WebhooksPath,
): void {
  app.get<ByHook>(
    `${path}/:hook_id/config`,
    { schema: describe(operations.getWebhookConfig) },
    async (request, reply) =>
      answerIfChanged(request, reply, webhookConfigJson(await namedWebhook(parts, request))),
  )

  app.patch<ByHook & { Body: wire.WebhookConfigChange }>(
    `${path}/:hook_id/config`,
    { config, schema: describe(operations.updateWebhookConfig) },
    async (request, reply) => {
      const changed = await change(parts, request, { config: request.body })
      return answer(reply, webhookConfigJson(changed))
    },
  )
}

async function change(
  parts: WebhookParts,
  request: FastifyRequest,
  body: wire.WebhookChange,
): Promise<Webhook> {
  const found = await namedWebhook(parts, request as FastifyRequest<ByHook>)
  const settings: WebhookSettings = settingsFrom(body, found, parts.isWebhookAllowed)
  const changed = await editWebhook(parts, found, settings)
  auditWebhook(parts, request, 'webhook.update', changed)
  return changed
}

const pingOf = (request: FastifyRequest): PingFacts => ({ sender: viewerOf(request).account })

const tooMany = () =>
  new InvalidRequest([
    { resource: 'Hook', code: 'custom', message: `There are ${MAX_WEBHOOKS} webhooks already.` },
  ])
