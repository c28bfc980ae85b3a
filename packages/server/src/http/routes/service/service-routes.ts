import { arrayOf, enumOf, literal, object, string } from '@godwit/contract/schemas/schema'
import type { FastifyInstance } from 'fastify'
import * as openapi from '../../description/operation.ts'
import { API_VERSIONS, PUBLIC_JSON_HEADERS } from '../../middleware/api-headers.ts'
import { sendJsonWithEtag } from '../../middleware/json-response.ts'
import type { ServerDependencies } from '../../server-dependencies.ts'
import type { Dependency } from './dependencies.ts'

const routes = openapi.routes('Service', { security: [] })({
  'service/healthz': {
    summary: 'Check that the process is alive',
    responses: {
      200: openapi.jsonResponse('The process is alive.', {
        schema: object({ status: literal('ok') }),
        example: 'healthy',
      }),
    },
  },
  'service/readyz': {
    summary: 'Check that the process is ready',
    description:
      'A process that cannot write to its data directory (the disk is full or read-only) is `degraded`: it still serves reads, downloads and deletions, but refuses to start migrations with 503.',
    responses: {
      200: openapi.jsonResponse('The process is ready, or degraded.', {
        schema: object(
          { status: enumOf(['ok', 'degraded']), waiting_for: arrayOf(enumOf(['data', 'forge'])) },
          { optional: ['waiting_for'] },
        ),
        example: 'healthy',
      }),
      503: openapi.jsonResponse('The process is not ready: a dependency is unavailable.', {
        schema: object({
          status: literal('unavailable'),
          waiting_for: arrayOf(enumOf(['catalogue', 'database', 'blobs', 'data', 'forge'])),
        }),
        example: 'waiting',
      }),
    },
  },
  'meta/get': {
    summary: 'Get information about the server',
    responses: {
      200: openapi.jsonResponse('Information about the server.', {
        schema: object(
          {
            verifiable_password_authentication: { const: false },
            installed_version: string.describe('If the operator has set one.'),
          },
          { optional: ['installed_version'] },
        ),
        example: 'meta',
        headers: ['etag'],
      }),
      304: openapi.NOT_MODIFIED,
    },
  },
  'meta/get-zen': {
    config: { anonymous: true, alsoAccepts: ['text/plain'] },
    summary: 'Get a sentence, to try the connection',
    responses: {
      200: { description: 'A sentence.', content: { 'text/plain': { schema: string } } },
    },
  },
  'meta/get-all-versions': {
    config: { anonymous: true },
    summary: 'List the versions of the API',
    responses: openapi.readResponses(
      'The versions, newest first.',
      arrayOf({ ...string, format: 'date' }),
      'versions',
    ),
  },
})

/**
 * Adds the checks for load balancers. A process that can read but not write stays ready, with the status `degraded`, so that users
 * can still download archives and delete them to free space.
 */
export function addHealthRoutes(app: FastifyInstance, dependencies: readonly Dependency[]): void {
  app.get('/healthz', routes['service/healthz'], async () => ({ status: 'ok' }))
  app.get('/readyz', routes['service/readyz'], async (_request, reply) => {
    const available = await Promise.all(dependencies.map(({ isAvailable }) => isAvailable()))
    const missing = dependencies.filter((_, index) => !available[index])
    if (missing.length === 0) return { status: 'ok' }
    const waiting_for = missing.map(({ name }) => name)
    if (missing.every(({ isForWritesOnly }) => isForWritesOnly))
      return { status: 'degraded', waiting_for }
    return reply.code(503).send({ status: 'unavailable', waiting_for })
  })
}

/** Adds `/meta`, in which clients look for the version of GitHub Enterprise Server. It needs no token. */
export function addMetaRoutes(
  app: FastifyInstance,
  { installedVersion }: ServerDependencies,
): void {
  const body = {
    verifiable_password_authentication: false,
    ...(installedVersion !== undefined && { installed_version: installedVersion }),
  }
  for (const [path, options] of Object.entries({
    '/meta': routes['meta/get'],
    '/api/v3/meta': {},
  })) {
    app.get(path, options, async (_request, reply) => {
      return sendJsonWithEtag(reply.headers(PUBLIC_JSON_HEADERS), body)
    })
  }
}

/** Clients request `/zen` to see whether a server responds and accepts their token. */
export function addZenRoute(app: FastifyInstance): void {
  app.get('/zen', routes['meta/get-zen'], async (_request, reply) =>
    reply.type('text/plain; charset=utf-8').send('A copy is worth what its restore proves.'),
  )
}

export function addVersionsRoute(app: FastifyInstance): void {
  app.get('/versions', routes['meta/get-all-versions'], async (_request, reply) =>
    sendJsonWithEtag(reply, API_VERSIONS),
  )
}
