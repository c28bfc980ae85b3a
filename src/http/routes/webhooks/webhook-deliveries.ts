import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Addresses } from '../../../repositories/addresses.ts'
import {
  type FullDelivery,
  findDelivery,
  listDeliveries,
} from '../../../webhooks/delivery-store.ts'
import { redeliver } from '../../../webhooks/manage-webhooks.ts'
import type { Webhook } from '../../../webhooks/webhook.ts'
import { string } from '../../../wire/schema.ts'
import { json, type Operation, one } from '../../description/operation.ts'
import { IF_NONE_MATCH, inQuery, parameter } from '../../description/parameters.ts'
import { refusal } from '../../description/refusals.ts'
import { notFound, notModified, page } from '../../description/usual-answers.ts'
import { answer, answerIfChanged } from '../../middleware/json-answer.ts'
import { addressAsked } from '../../middleware/link-header.ts'
import { found, idIn, numberIn } from '../../middleware/named-in-path.ts'
import { pagingOf } from '../../middleware/paging.ts'
import { deliveryJson, fullDeliveryJson } from './webhook-json.ts'
import {
  type AddWebhookRoutes,
  auditWebhook,
  type ByHook,
  HOOK_CONFIG,
  type WebhookParts,
  webhookInPath,
} from './webhook-paths.ts'

const listOperation = {
  operationId: 'users/list-webhook-deliveries',
  tags: ['Webhooks'],
  summary: 'List the deliveries of a webhook',
  description:
    'Newest first; every try is one. An event that cannot be delivered is tried ten times within a day. While 500 events of a webhook wait, new ones are not sent, and listed as such. Deliveries are kept for 30 days, at most 500 of each webhook.',
  parameters: [
    parameter('hook-id'),
    parameter('per-page'),
    inQuery('cursor', string, 'Where the page begins; see the `link` header.'),
    IF_NONE_MATCH,
  ],
  responses: { ...page('webhook-delivery', 'webhook-deliveries'), 404: notFound },
} satisfies Operation

const getOperation = {
  operationId: 'users/get-webhook-delivery',
  tags: ['Webhooks'],
  summary: 'Get a delivery of a webhook',
  parameters: [parameter('hook-id'), parameter('delivery-id'), IF_NONE_MATCH],
  responses: {
    200: json('The delivery.', {
      schema: one('full-webhook-delivery'),
      example: 'webhook-delivery',
      headers: ['etag'],
    }),
    304: notModified,
    404: notFound,
  },
} satisfies Operation

const redeliverOperation = {
  operationId: 'users/redeliver-webhook-delivery',
  tags: ['Webhooks'],
  summary: 'Send the event of a delivery again',
  description:
    'It is sent soon, with the same `guid` and payload, unless 500 events of the webhook are waiting.',
  parameters: [parameter('hook-id'), parameter('delivery-id')],
  responses: {
    202: json('It will be sent.', { schema: { type: 'object' }, example: 'accepted' }),
    404: notFound,
    422: refusal('invalid'),
  },
} satisfies Operation

export const webhookDeliveries: AddWebhookRoutes = (app, parts, { path, describe }) => {
  const { db, rendering } = parts
  const deliveries = `${path}/:hook_id/deliveries`

  app.get<ByHook>(deliveries, { schema: describe(listOperation) }, async (request, reply) => {
    const webhook = await webhookInPath(parts, request)
    const { limit } = pagingOf(request.query)
    const from = numberIn(request.query.cursor)
    const listed = await listDeliveries(db, webhook, { from, limit: limit + 1 })
    const next = listed[limit]
    if (next) setNextLink(request, reply, rendering.addresses, next.id)
    const body = listed.slice(0, limit).map(deliveryJson)
    return answerIfChanged(request, reply, body, { alsoMadeFrom: [next?.id ?? 0] })
  })

  app.get<ByHook>(
    `${deliveries}/:delivery_id`,
    { schema: describe(getOperation) },
    async (request, reply) => {
      const webhook = await webhookInPath(parts, request)
      const body = fullDeliveryJson(await deliveryInPath(parts, request, webhook))
      return answerIfChanged(request, reply, body)
    },
  )

  app.post<ByHook>(
    `${deliveries}/:delivery_id/attempts`,
    { config: HOOK_CONFIG, schema: describe(redeliverOperation) },
    async (request, reply) => {
      const webhook = await webhookInPath(parts, request)
      const { id, eventId, guid } = await deliveryInPath(parts, request, webhook)
      await redeliver(parts, webhook, eventId)
      auditWebhook(parts, request, 'webhook.redeliver', webhook, { delivery: id, guid })
      return answer(reply.code(202), {})
    },
  )
}

async function deliveryInPath(
  { db }: WebhookParts,
  request: FastifyRequest<ByHook>,
  webhook: Webhook,
): Promise<FullDelivery> {
  return found(await findDelivery(db, webhook, idIn(request.params.delivery_id)))
}

/** Sets the `link` header to the URL of this request with another cursor. */
function setNextLink(
  request: FastifyRequest,
  reply: FastifyReply,
  addresses: Addresses,
  cursor: number,
): void {
  const { address, query } = addressAsked(request, addresses)
  const parameters = new URLSearchParams(query)
  parameters.set('cursor', String(cursor))
  reply.header('link', `<${address}?${parameters}>; rel="next"`)
}
