import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Authenticator } from '../accounts/authenticator.ts'
import type { Db } from '../db/connect.ts'
import { NotFound } from '../migrations/refusals.ts'
import type { StartParts } from '../migrations/start-migration.ts'
import { archiveDownload, type DownloadParts } from './archive-download.ts'
import { authenticate } from './authenticate.ts'
import { errorHandler } from './github-errors.ts'
import type { Rendering } from './github-json.ts'
import { type MediaTypeOptions, mediaTypes } from './media-type.ts'
import { bodyIsNoObject, unparsableBody } from './refusals.ts'
import { logRequests } from './request-log.ts'
import { userMigrations } from './user-migrations.ts'

export interface ServerParts extends StartParts, DownloadParts {
  db: Db
  now: () => number
  authenticator: Authenticator
  log: Logger
  rendering: Rendering
  mediaType: MediaTypeOptions
  /** Addresses or networks whose `x-forwarded-for` is believed. */
  trustedProxies: string[]
  /** Whether the repositories have been read once since the start. */
  isCatalogueRead: () => boolean
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Part of the preview: where it is required, a caller must ask for it by its media type. */
    previewed?: boolean
  }
}

const MOST_BODY_BYTES = 1024 * 1024

/** Every plugin and route, by name. */
export function createServer(parts: ServerParts): FastifyInstance {
  const app = Fastify({
    genReqId: () => randomUUID(),
    bodyLimit: MOST_BODY_BYTES,
    trustProxy: parts.trustedProxies.length > 0 ? parts.trustedProxies : false,
    forceCloseConnections: 'idle',
    // A path that cannot be decoded names nothing.
    frameworkErrors: (_error, request, reply) => onError(new NotFound() as never, request, reply),
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allErrors: true } },
  })
  const onError = errorHandler(parts.rendering.addresses.documentation, parts.log)

  app.decorateRequest('viewer', null)
  app.setErrorHandler(onError)
  app.setNotFoundHandler(() => {
    throw new NotFound()
  })
  readJsonBodies(app)
  logRequests(app, parts.log)
  health(app, parts)
  archiveDownload(app, parts)
  app.register(async (api) => {
    speakTheWire(api, parts)
    userMigrations(api, parts)
  })
  return app
}

/** What every operation of the API does before its own handler: who is asking, and in which media type. */
function speakTheWire(api: FastifyInstance, { authenticator, mediaType }: ServerParts): void {
  const { vendor } = mediaType
  const types = mediaTypes(mediaType)
  api.addHook('onRequest', async (request, reply) => {
    reply.headers({
      [`x-${vendor}-request-id`]: request.id,
      'cache-control': 'private, no-cache',
      vary: 'Accept, Authorization, Cookie, X-GitHub-OTP',
    })
    request.viewer = await authenticate(authenticator, request.headers.authorization)
    const { previewed = false } = request.routeOptions.config
    reply.header(`x-${vendor}-media-type`, types.choose(request.headers.accept, { previewed }))
  })
}

/** Bodies are JSON whatever their content-type says: `curl -d` calls everything a form. */
function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, text, done) => {
    if (text === '') return done(null, {})
    let body: unknown
    try {
      body = JSON.parse(text as string)
    } catch {
      return done(unparsableBody())
    }
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      return done(bodyIsNoObject())
    }
    done(null, body)
  })
  app.addHook('preValidation', async (request) => {
    request.body ??= {}
  })
}

/** For load balancers: alive at all, and able to do its work. */
function health(app: FastifyInstance, { db, log, isCatalogueRead }: ServerParts): void {
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    const waitingFor = isCatalogueRead() ? [] : ['catalogue']
    await sql`select 1`.execute(db).catch((err: unknown) => {
      log.warn({ err }, 'the database does not answer')
      waitingFor.push('database')
    })
    if (waitingFor.length === 0) return { status: 'ok' }
    return reply.code(503).send({ status: 'unavailable', waiting_for: waitingFor })
  })
}
