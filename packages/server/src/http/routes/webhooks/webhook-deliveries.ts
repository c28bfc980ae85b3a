import type { FastifyRequest } from 'fastify'
import { audited } from '../../../accounts/audit-log.ts'
import { findDelivery, listDeliveries } from '../../../webhooks/delivery-store.ts'
import { redeliver } from '../../../webhooks/manage-webhooks.ts'
import type { Webhook } from '../../../webhooks/webhook-store.ts'
import * as openapi from '../../description/operation.ts'
import { sendJson, sendJsonWithEtag } from '../../middleware/json-response.ts'
import { parseCursor, parsePaging, setNextLink } from '../../middleware/pagination.ts'
import { actorOf, parseId, requireFound, requireId } from '../../middleware/request.ts'
import type { AddScopedRoutes } from '../../scopes/scoped-path.ts'
import { deliveryJson, fullDeliveryJson } from './webhook-json.ts'
import { aboutWebhook, type ByHook, webhookInPath } from './webhooks.ts'

const routes = openapi.routes('Webhooks', { config: { resource: 'Hook' } })({
  'users/list-webhook-deliveries': {
    summary: 'List the deliveries of a webhook',
    description:
      'Newest first. Every attempt is one delivery. An event that cannot be delivered is sent up to ten times within a day. While 500 events of a webhook are waiting, new events are not sent; the list shows this. Deliveries are kept for 30 days, at most 500 of each webhook.',
    query: openapi.CURSOR_QUERY,
    responses: {
      ...openapi.pageResponses('webhook-delivery', 'webhook-deliveries'),
      422: openapi.errorResponse('invalid-query'),
    },
  },
  'users/get-webhook-delivery': {
    summary: 'Get a delivery of a webhook',
    responses: openapi.readResponses(
      'The delivery.',
      openapi.schemaRef('full-webhook-delivery'),
      'webhook-delivery',
    ),
  },
  'users/redeliver-webhook-delivery': {
    summary: 'Send the event of a delivery again',
    description:
      'It is sent soon, with the same `guid` and payload, unless 500 events of the webhook are waiting.',
    responses: {
      202: openapi.jsonResponse('It will be sent.', {
        schema: { type: 'object' },
        example: 'accepted',
      }),
      422: openapi.errorResponse('invalid'),
    },
  },
})

export const addDeliveryRoutes: AddScopedRoutes = (app, dependencies, { path, options }) => {
  const { db, rendering } = dependencies
  const list = `${path}/:hook_id/deliveries`
  const one = `${list}/:delivery_id`
  const deliveryInPath = async ({ params }: FastifyRequest<ByHook>, webhook: Webhook) =>
    requireFound(await findDelivery(db, webhook, requireId(params.delivery_id)))

  const listOptions = options(routes['users/list-webhook-deliveries'])
  app.get<ByHook>(list, listOptions, async (request, reply) => {
    const webhook = await webhookInPath(dependencies, request)
    const { limit } = parsePaging(request.query)
    const from = parseCursor(request.query, parseId)
    const listed = await listDeliveries(db, webhook, { from, limit: limit + 1 })
    const next = listed[limit]
    if (next) setNextLink(reply, rendering.addresses, next.id)
    const body = listed.slice(0, limit).map(deliveryJson)
    return sendJsonWithEtag(reply, body, { extraEtagParts: [next?.id ?? 0] })
  })

  app.get<ByHook>(one, options(routes['users/get-webhook-delivery']), async (request, reply) => {
    const webhook = await webhookInPath(dependencies, request)
    return sendJsonWithEtag(reply, fullDeliveryJson(await deliveryInPath(request, webhook)))
  })

  const redeliverOptions = options(routes['users/redeliver-webhook-delivery'])
  app.post<ByHook>(`${one}/attempts`, redeliverOptions, async (request, reply) => {
    const webhook = await webhookInPath(dependencies, request)
    const { id, eventId, guid } = await deliveryInPath(request, webhook)
    const about = aboutWebhook(webhook, { delivery: id, guid })
    await audited(dependencies, actorOf(request), (record) =>
      redeliver(dependencies, webhook, eventId, (tx) => record(tx, 'webhook.redeliver', about)),
    )
    return sendJson(reply.code(202), {})
  })
}
