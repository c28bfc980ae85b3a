import { text } from '../description/json-schema.ts'
import { json, type Operation, one, parameter, several } from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'
import { newWebhookSchema, webhookChangeSchema, webhookConfigBodySchema } from './webhook-schema.ts'

const notFound = refusal('not-found')
const notModified = refusal('not-modified')
const tags: Operation['tags'] = ['Webhooks']
const one_ = [parameter('hook-id')]
const named = { parameters: one_ }
const webhook = { schema: one('webhook'), example: 'webhook' as const }
const config = { schema: one('webhook-config'), example: 'webhook-config' as const }
const etag = { headers: ['etag' as const] }

export const listWebhooks = {
  operationId: 'users/list-webhooks',
  tags,
  summary: 'List webhooks',
  parameters: [parameter('per-page'), parameter('page'), parameter('if-none-match')],
  responses: {
    200: json('One page of the list.', {
      schema: several('webhook'),
      example: 'webhooks',
      headers: ['etag', 'link'],
    }),
    304: notModified,
  },
} satisfies Operation

export const createWebhook = {
  operationId: 'users/create-webhook',
  tags,
  summary: 'Create a webhook',
  description:
    'The address is told when migrations end, as GitHub tells of its events: with the headers that it has for them, the event `migration`, the way it ended as `action`, and signatures of the body if there is a secret. A `ping` is sent first. At most 20 webhooks.',
  body: newWebhookSchema,
  responses: {
    201: json('Created.', { ...webhook, headers: ['location'] }),
    422: refusal('invalid'),
  },
} satisfies Operation

export const getWebhook = {
  operationId: 'users/get-webhook',
  tags,
  summary: 'Get a webhook',
  parameters: [...one_, parameter('if-none-match')],
  responses: {
    200: json('The webhook.', { ...webhook, ...etag }),
    304: notModified,
    404: notFound,
  },
} satisfies Operation

export const updateWebhook = {
  operationId: 'users/update-webhook',
  tags,
  summary: 'Change a webhook',
  description: 'What is not sent stays as it is, including the secret.',
  ...named,
  body: webhookChangeSchema,
  responses: { 200: json('Changed.', webhook), 404: notFound, 422: refusal('invalid') },
} satisfies Operation

export const deleteWebhook = {
  operationId: 'users/delete-webhook',
  tags,
  summary: 'Delete a webhook',
  description: 'With its deliveries, and with all that was still to be sent.',
  ...named,
  responses: { 204: { description: 'Deleted.' }, 404: notFound },
} satisfies Operation

export const getWebhookConfig = {
  operationId: 'users/get-webhook-config',
  tags,
  summary: 'Get the configuration of a webhook',
  parameters: [...one_, parameter('if-none-match')],
  responses: {
    200: json('The configuration.', { ...config, ...etag }),
    304: notModified,
    404: notFound,
  },
} satisfies Operation

export const updateWebhookConfig = {
  operationId: 'users/update-webhook-config',
  tags,
  summary: 'Change the configuration of a webhook',
  ...named,
  body: webhookConfigBodySchema,
  responses: { 200: json('Changed.', config), 404: notFound, 422: refusal('invalid') },
} satisfies Operation

export const pingWebhook = {
  operationId: 'users/ping-webhook',
  tags,
  summary: 'Send a ping to a webhook',
  description: 'It is sent soon, and once.',
  ...named,
  responses: { 204: { description: 'It will be sent.' }, 404: notFound },
} satisfies Operation

export const listDeliveries = {
  operationId: 'users/list-webhook-deliveries',
  tags,
  summary: 'List the deliveries of a webhook',
  description:
    'Newest first; every try is one. An event that cannot be delivered is tried ten times within a day. Deliveries are kept for 30 days, at most 500 of each webhook.',
  parameters: [
    ...one_,
    parameter('per-page'),
    {
      name: 'cursor',
      in: 'query',
      description: 'Where the page begins; see the `link` header.',
      schema: text,
    },
    parameter('if-none-match'),
  ],
  responses: {
    200: json('One page of the list.', {
      schema: several('webhook-delivery'),
      example: 'webhook-deliveries',
      headers: ['etag', 'link'],
    }),
    304: notModified,
    404: notFound,
  },
} satisfies Operation

export const getDelivery = {
  operationId: 'users/get-webhook-delivery',
  tags,
  summary: 'Get a delivery of a webhook',
  parameters: [...one_, parameter('delivery-id'), parameter('if-none-match')],
  responses: {
    200: json('The delivery.', {
      schema: one('full-webhook-delivery'),
      example: 'webhook-delivery',
      ...etag,
    }),
    304: notModified,
    404: notFound,
  },
} satisfies Operation

export const redeliver = {
  operationId: 'users/redeliver-webhook-delivery',
  tags,
  summary: 'Send the event of a delivery again',
  description: 'It is sent soon, with the same `guid` and payload.',
  parameters: [...one_, parameter('delivery-id')],
  responses: {
    202: json('It will be sent.', { schema: { type: 'object' }, example: 'accepted' }),
    404: notFound,
  },
} satisfies Operation

/** Sent by us, so it is no route: in the part of the description that tells of such. */
export const migrationEvent = {
  operationId: 'webhooks/migration',
  tags,
  summary: 'A migration has ended',
  description:
    'Sent to webhooks, as JSON or as a form, with the headers that GitHub has for its events. Any 2xx answer means that it was received.',
  security: [],
  requestBody: {
    required: true,
    content: { 'application/json': { schema: one('webhook-event') } },
  },
  responses: {
    204: { description: 'Received.' },
    '4XX': { description: 'Not received: it is sent again later, as after any other answer.' },
  },
}

const WHO =
  'Only for owners of the organization and for site admins; for all others it does not exist.'

/** The same for an organization, under the names that GitHub has for them. */
export function forOrganization(operation: Operation): Operation {
  const name = operation.operationId.replace('users/', '')
  return {
    ...operation,
    operationId: `orgs/${name}${name.endsWith('-config') ? '-for-org' : ''}`,
    summary: `${operation.summary} (organization)`,
    description: [operation.description, WHO].filter((each) => each !== undefined).join(' '),
    parameters: [parameter('org'), ...(operation.parameters ?? [])],
    responses: { 404: notFound, ...operation.responses },
  }
}
