import { string } from '../../../wire/schema.ts'
import {
  webhookChangeSchema,
  webhookConfigChangeSchema,
  webhookRequestSchema,
} from '../../../wire/webhook.ts'
import { json, type Operation, one } from '../../description/operation.ts'
import { IF_NONE_MATCH, inQuery, PAGED, parameter } from '../../description/parameters.ts'
import { refusal } from '../../description/refusals.ts'
import { current, notFound, notModified, page, record } from '../../description/usual-answers.ts'
import { describedForOrganization } from '../organizations/for-organization.ts'

const tags: Operation['tags'] = ['Webhooks']
const one_ = [parameter('hook-id')]
const named = { parameters: one_ }

export const listWebhooks = {
  operationId: 'users/list-webhooks',
  tags,
  summary: 'List webhooks',
  parameters: PAGED,
  responses: page('webhook', 'webhooks'),
} satisfies Operation

export const createWebhook = {
  operationId: 'users/create-webhook',
  tags,
  summary: 'Create a webhook',
  description:
    'The address is told when migrations end, as GitHub tells of its events: with the headers that it has for them, the event `migration`, the way it ended as `action`, and signatures of the body if there is a secret. A `ping` is sent first. At most 20 webhooks.',
  body: webhookRequestSchema,
  responses: { 201: record('Created.', 'webhook', 'location'), 422: refusal('invalid') },
} satisfies Operation

export const getWebhook = {
  operationId: 'users/get-webhook',
  tags,
  summary: 'Get a webhook',
  parameters: [...one_, IF_NONE_MATCH],
  responses: { ...current('The webhook.', 'webhook'), 404: notFound },
} satisfies Operation

export const updateWebhook = {
  operationId: 'users/update-webhook',
  tags,
  summary: 'Change a webhook',
  description: 'What is not sent stays as it is, including the secret.',
  ...named,
  body: webhookChangeSchema,
  responses: { 200: record('Changed.', 'webhook'), 404: notFound, 422: refusal('invalid') },
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
  parameters: [...one_, IF_NONE_MATCH],
  responses: { ...current('The configuration.', 'webhook-config'), 404: notFound },
} satisfies Operation

export const updateWebhookConfig = {
  operationId: 'users/update-webhook-config',
  tags,
  summary: 'Change the configuration of a webhook',
  ...named,
  body: webhookConfigChangeSchema,
  responses: { 200: record('Changed.', 'webhook-config'), 404: notFound, 422: refusal('invalid') },
} satisfies Operation

export const pingWebhook = {
  operationId: 'users/ping-webhook',
  tags,
  summary: 'Send a ping to a webhook',
  description:
    'It is sent soon, and once. A webhook gets at most 60 pings an hour, and has at most 500 events that wait to be delivered.',
  ...named,
  responses: {
    204: { description: 'It will be sent.' },
    404: notFound,
    422: refusal('invalid'),
  },
} satisfies Operation

export const listDeliveries = {
  operationId: 'users/list-webhook-deliveries',
  tags,
  summary: 'List the deliveries of a webhook',
  description:
    'Newest first; every try is one. An event that cannot be delivered is tried ten times within a day. While 500 events of a webhook wait, new ones are not sent, and listed as such. Deliveries are kept for 30 days, at most 500 of each webhook.',
  parameters: [
    ...one_,
    parameter('per-page'),
    inQuery('cursor', string, 'Where the page begins; see the `link` header.'),
    IF_NONE_MATCH,
  ],
  responses: { ...page('webhook-delivery', 'webhook-deliveries'), 404: notFound },
} satisfies Operation

export const getDelivery = {
  operationId: 'users/get-webhook-delivery',
  tags,
  summary: 'Get a delivery of a webhook',
  parameters: [...one_, parameter('delivery-id'), IF_NONE_MATCH],
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

export const redeliver = {
  operationId: 'users/redeliver-webhook-delivery',
  tags,
  summary: 'Send the event of a delivery again',
  description:
    'It is sent soon, with the same `guid` and payload, unless 500 events of the webhook are waiting.',
  parameters: [...one_, parameter('delivery-id')],
  responses: {
    202: json('It will be sent.', { schema: { type: 'object' }, example: 'accepted' }),
    404: notFound,
    422: refusal('invalid'),
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

/** The same for an organization, under the names that GitHub has for them. */
export function forOrganization(operation: Operation): Operation {
  const name = operation.operationId.replace('users/', '')
  const suffix = name.endsWith('-config') ? '-for-org' : ''
  return describedForOrganization(operation, `orgs/${name}${suffix}`)
}
