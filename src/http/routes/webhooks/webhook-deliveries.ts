import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Addresses } from '../../../repositories/addresses.ts'
import {
  type FullDelivery,
  findDelivery,
  listDeliveries,
} from '../../../webhooks/delivery-store.ts'
import { redeliver } from '../../../webhooks/manage-webhooks.ts'
import type { Webhook } from '../../../webhooks/webhook.ts'
import { answer, answerIfChanged } from '../../middleware/json-answer.ts'
import { addressAsked } from '../../middleware/link-header.ts'
import { found, idIn, numberIn } from '../../middleware/named-in-path.ts'
import { pagingOf } from '../../middleware/paging.ts'
import {
  auditWebhook,
  type ByHook,
  namedWebhook,
  OF_HOOK,
  type WebhookParts,
  type WebhooksPath,
} from './named-webhook.ts'
import { deliveryJson, fullDeliveryJson } from './webhook-json.ts'
import * as operations from './webhooks-operations.ts'

/** The log of what a webhook was sent. */
export function webhookDeliveries(
  app: FastifyInstance,
  parts: WebhookParts,
  { path, describe }: WebhooksPath,
): void {
  const { db, rendering } = parts
  const deliveries = `${path}/:hook_id/deliveries`

  app.get<ByHook>(
    deliveries,
    { schema: describe(operations.listDeliveries) },
    async (request, reply) => {
      const webhook = await namedWebhook(parts, request)
      const { limit } = pagingOf(request.query)
      const from = numberIn(request.query.cursor)
      const listed = await listDeliveries(db, webhook, { from, limit: limit + 1 })
      const next = listed[limit]
      if (next) tellNext(request, reply, rendering.addresses, next.id)
      const body = listed.slice(0, limit).map(deliveryJson)
      return answerIfChanged(request, reply, body, { alsoMadeFrom: [next?.id ?? 0] })
    },
  )

  app.get<ByHook>(
    `${deliveries}/:delivery_id`,
    { schema: describe(operations.getDelivery) },
    async (request, reply) => {
      const webhook = await namedWebhook(parts, request)
      const body = fullDeliveryJson(await namedDelivery(parts, request, webhook))
      return answerIfChanged(request, reply, body)
    },
  )

  app.post<ByHook>(
    `${deliveries}/:delivery_id/attempts`,
    { config: OF_HOOK, schema: describe(operations.redeliver) },
    async (request, reply) => {
      const webhook = await namedWebhook(parts, request)
      const { id, eventId, guid } = await namedDelivery(parts, request, webhook)
      await redeliver(parts, webhook, eventId)
      auditWebhook(parts, request, 'webhook.redeliver', webhook, { delivery: id, guid })
      return answer(reply.code(202), {})
    },
  )
}

async function namedDelivery(
  { db }: WebhookParts,
  request: FastifyRequest<ByHook>,
  webhook: Webhook,
): Promise<FullDelivery> {
  return found(await findDelivery(db, webhook, idIn(request.params.delivery_id)))
}

/** The caller's own query with another cursor. */
function tellNext(
  request: FastifyRequest,
  reply: FastifyReply,
  addresses: Addresses,
  cursor: number,
): void {
  const { address, query } = addressAsked(request, addresses)
  const asked = new URLSearchParams(query)
  asked.set('cursor', String(cursor))
  reply.header('link', `<${address}?${asked}>; rel="next"`)
}
