import { arrayOf, enumOf, literal, object, string } from '../../wire/schema.ts'
import { json, type Operation, withHeaders } from '../description/operation.ts'
import { IF_NONE_MATCH, parameter } from '../description/parameters.ts'
import { alsoAs, current, notFound } from '../description/usual-answers.ts'

export const getHealth = {
  operationId: 'service/healthz',
  tags: ['Service'],
  summary: 'Check that the process is alive',
  security: [],
  responses: {
    200: json('The process is alive.', {
      schema: object({ status: literal('ok') }),
      example: 'healthy',
    }),
  },
} satisfies Operation

export const getReadiness = {
  operationId: 'service/readyz',
  tags: ['Service'],
  summary: 'Check that the process is ready',
  description:
    'A process that cannot write to its data directory (the disk is full or read-only) is `degraded`: it answers reads, downloads and deletions, and refuses to start migrations with 503.',
  security: [],
  responses: {
    200: json('The process is ready, or degraded.', {
      schema: object(
        { status: enumOf(['ok', 'degraded']), waiting_for: arrayOf(literal('data')) },
        { optional: ['waiting_for'] },
      ),
      example: 'healthy',
    }),
    503: json('The process is not ready: a dependency does not answer.', {
      schema: object({
        status: literal('unavailable'),
        waiting_for: arrayOf(enumOf(['catalogue', 'database', 'blobs', 'data'])),
      }),
      example: 'waiting',
    }),
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
  parameters: [IF_NONE_MATCH],
  responses: { ...alsoAs('text/html', current('Addresses.', 'root')), 304: known },
} satisfies Operation

export const getMeta = {
  operationId: 'meta/get',
  tags: ['Service'],
  summary: 'Get facts about the server',
  security: [],
  parameters: [IF_NONE_MATCH],
  responses: {
    200: json('Facts about the server.', {
      schema: object(
        {
          verifiable_password_authentication: { const: false },
          installed_version: { ...string, description: 'If the operator has set one.' },
        },
        { optional: ['installed_version'] },
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
  parameters: [IF_NONE_MATCH],
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
    404: notFound,
  },
} satisfies Operation

export const getDocs = {
  operationId: 'service/docs',
  tags: ['Service'],
  summary: 'Read this description as a web page',
  security: [],
  parameters: [IF_NONE_MATCH],
  responses: {
    200: { description: 'A web page.', ...etag, content: { 'text/html': { schema: string } } },
    304: known,
  },
} satisfies Operation
