import { listOf, recordOf, text } from '../description/json-schema.ts'
import {
  alsoAs,
  json,
  type Operation,
  one,
  parameter,
  withHeaders,
} from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'

export const getCurrentUser = {
  operationId: 'users/get-authenticated',
  tags: ['Caller'],
  summary: 'Get the caller',
  parameters: [parameter('if-none-match')],
  responses: {
    200: json('Who the token belongs to.', {
      schema: one('current-user'),
      example: 'current-user',
      headers: ['etag'],
    }),
    304: refusal('not-modified'),
  },
} satisfies Operation

export const getRateLimit = {
  operationId: 'rate-limit/get',
  tags: ['Caller'],
  summary: 'Get what is left of the rate limit',
  description: 'Asking is free.',
  responses: {
    200: json('The limit and what is left of it.', {
      schema: one('rate-limit'),
      example: 'rate-limit',
    }),
  },
} satisfies Operation

export const getHealth = {
  operationId: 'service/healthz',
  tags: ['Service'],
  summary: 'Tell whether the process is alive',
  security: [],
  responses: {
    200: json('It is.', {
      schema: recordOf({ status: { const: 'ok' } }),
      example: 'healthy',
    }),
  },
} satisfies Operation

export const getReadiness = {
  operationId: 'service/readyz',
  tags: ['Service'],
  summary: 'Tell whether the process can do its work',
  security: [],
  responses: {
    ...getHealth.responses,
    503: json('It waits for something.', {
      schema: recordOf({
        status: { const: 'unavailable' },
        waiting_for: listOf({ ...text, enum: ['catalogue', 'database', 'blobs'] }),
      }),
      example: 'waiting',
    }),
  },
} satisfies Operation

export const getMetrics = {
  operationId: 'service/metrics',
  tags: ['Service'],
  summary: 'Get counts and times for Prometheus',
  security: [],
  responses: {
    200: { description: 'In its text format.', content: { 'text/plain': { schema: text } } },
  },
} satisfies Operation

const etag = withHeaders('etag')
const known = { description: 'The caller has it already.', ...etag }

export const getRoot = {
  operationId: 'meta/root',
  tags: ['Service'],
  summary: 'See where everything is',
  description:
    'The dashboard for browsers, which name `text/html` first; addresses for all others.',
  security: [],
  parameters: [parameter('if-none-match')],
  responses: {
    200: alsoAs(
      'text/html',
      json('Addresses.', { schema: one('root'), example: 'root', headers: ['etag'] }),
    ),
    304: known,
  },
} satisfies Operation

export const getDescription = {
  operationId: 'service/openapi',
  tags: ['Service'],
  summary: 'Get this description',
  description: 'As OpenAPI 3.1.',
  security: [],
  parameters: [parameter('if-none-match')],
  responses: {
    200: {
      description: 'The description.',
      ...etag,
      content: { 'application/json': { schema: { type: 'object' } } },
    },
    304: known,
  },
} satisfies Operation

export const getDocs = {
  operationId: 'service/docs',
  tags: ['Service'],
  summary: 'Read this description as a page',
  security: [],
  parameters: [parameter('if-none-match')],
  responses: {
    200: { description: 'A page.', ...etag, content: { 'text/html': { schema: text } } },
    304: known,
  },
} satisfies Operation
