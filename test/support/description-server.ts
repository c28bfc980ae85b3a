import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { TestContext } from 'node:test'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { pino } from 'pino'
import { cloneTokens } from '../../packages/server/src/http/credentials/clone-tokens.ts'
import type { MediaTypeOptions } from '../../packages/server/src/http/middleware/api-headers.ts'
import { offsetTimestamps } from '../../packages/server/src/http/rendering/rendering.ts'
import { createServer, type ServerOptions } from '../../packages/server/src/http/server.ts'
import { addressesFrom } from '../../packages/server/src/repositories/addresses.ts'
import type { Description } from './openapi-validator.ts'

export const addresses = addressesFrom({
  baseUrl: 'https://git.host.test/api',
  webUrl: 'https://git.host.test/{owner}/{name}',
  cloneUrl: 'https://git.host.test/{owner}/{name}.git',
  sshUrl: 'git@git.host.test:{owner}/{name}.git',
})
export const rendering = {
  addresses,
  migrationTime: offsetTimestamps('Europe/Berlin'),
  renderingVersion: '1',
}
export const DEFAULT_MEDIA_TYPE: MediaTypeOptions = { vendor: 'github', preview: 'required' }

/** Starts a server that serves its description, without working dependencies behind it. */
export function descriptionServer(
  t: Pick<TestContext, 'after'>,
  mediaType = DEFAULT_MEDIA_TYPE,
  more: Partial<ServerOptions> = {},
): FastifyInstance {
  const parts: Partial<ServerOptions> = {
    rendering,
    mediaType,
    now: Date.now,
    log: pino({ level: 'silent' }),
    rateLimit: { perHour: 0, pool: undefined },
    trustedProxies: [],
    sessionTtlMs: 43_200_000,
    requestLimits: {
      maxConnections: 10,
      maxRequests: 10,
      maxStreams: 10,
      maxStreamsPerAccount: 10,
      clientTimeoutMs: 60_000,
    },
    cloneSlots: { max: 0, waitMs: 0 },
    cloneTokens: cloneTokens({ key: () => Buffer.alloc(32), now: Date.now, isServed: false }),
    ...more,
  }
  const app = createServer(parts as ServerOptions)
  t.after(() => app.close())
  return app
}

export async function descriptionOf(app: FastifyInstance): Promise<Description> {
  return (await app.inject('/openapi.json')).json()
}

/** Collects the routes that fastify is given while the server is made. */
export function collectRoutes(make: () => FastifyInstance): {
  app: FastifyInstance
  routes: RouteOptions[]
} {
  const routes: RouteOptions[] = []
  const listen = (message: unknown) =>
    (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', (route) => {
      routes.push(route)
    })
  subscribe('fastify.initialization', listen)
  const app = make()
  unsubscribe('fastify.initialization', listen)
  return { app, routes }
}
