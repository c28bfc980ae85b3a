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
  summary: 'Get the current account',
  parameters: [parameter('if-none-match')],
  responses: {
    200: json('The account of the token.', {
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
  summary: 'Get the rate limit',
  description: 'Does not count against the rate limit.',
  responses: {
    200: json('The rate limit.', {
      schema: one('rate-limit'),
      example: 'rate-limit',
    }),
  },
} satisfies Operation

export const getHealth = {
  operationId: 'service/healthz',
  tags: ['Service'],
  summary: 'Check that the process is alive',
  security: [],
  responses: {
    200: json('The process is alive.', {
      schema: recordOf({ status: { const: 'ok' } }),
      example: 'healthy',
    }),
  },
} satisfies Operation

export const getReadiness = {
  operationId: 'service/readyz',
  tags: ['Service'],
  summary: 'Check that the process is ready',
  security: [],
  responses: {
    ...getHealth.responses,
    503: json('The process is not ready: a dependency does not answer.', {
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
  summary: 'Get metrics for Prometheus',
  security: [],
  responses: {
    200: {
      description: 'Metrics in the text format of Prometheus.',
      content: { 'text/plain': { schema: text } },
    },
  },
} satisfies Operation

const etag = withHeaders('etag')
const known = { description: 'Not modified.', ...etag }

export const getRoot = {
  operationId: 'meta/root',
  tags: ['Service'],
  summary: 'Get the addresses of the API',
  description:
    'Browsers (which prefer `text/html`) get the dashboard; other clients get the addresses.',
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

export const getMeta = {
  operationId: 'meta/get',
  tags: ['Service'],
  summary: 'Get facts about the server',
  security: [],
  parameters: [parameter('if-none-match')],
  responses: {
    200: json('Facts about the server.', {
      schema: recordOf(
        {
          verifiable_password_authentication: { const: false },
          installed_version: { ...text, description: 'If the operator has set one.' },
        },
        { sometimes: ['installed_version'] },
      ),
      example: 'meta',
      headers: ['etag'],
    }),
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

export const getRepositoryPage = {
  operationId: 'service/repository-page',
  tags: ['Service'],
  summary: 'See a repository in a browser',
  description:
    'The `html_url` of a repository, unless the operator has set another (`--web-url`). Leads to the page of the dashboard, which shows it to those who may read it. Clients that prefer JSON get 404.',
  security: [],
  parameters: [parameter('owner'), parameter('repo')],
  responses: {
    302: { description: 'Where the page is.', ...withHeaders('location') },
    404: refusal('not-found'),
  },
} satisfies Operation

export const getDocs = {
  operationId: 'service/docs',
  tags: ['Service'],
  summary: 'Read this description as a web page',
  security: [],
  parameters: [parameter('if-none-match')],
  responses: {
    200: { description: 'A web page.', ...etag, content: { 'text/html': { schema: text } } },
    304: known,
  },
} satisfies Operation
