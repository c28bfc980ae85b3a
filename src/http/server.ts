import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Viewer } from '../accounts/account.ts'
import type { Authenticator } from '../accounts/authenticator.ts'
import type { Db } from '../db/database.ts'
import { type Soon, soon } from '../db/soon.ts'
import { LONGEST_NAME } from '../ground/names.ts'
import type { PreflightParts } from '../migrations/preflight.ts'
import { NotFound } from '../migrations/refusals.ts'
import { describeApi } from './description/api-docs.ts'
import { type AdmissionOptions, createAdmission } from './door/admission.ts'
import type { Answered, NoteAnswered } from './door/answered.ts'
import { authenticate } from './door/authenticate.ts'
import { type DependencyParts, dependencies } from './door/dependencies.ts'
import { errorHandler } from './door/github-errors.ts'
import { keepAnswers } from './door/json-answer.ts'
import { malformedRequests } from './door/malformed-requests.ts'
import { manners } from './door/manners.ts'
import { type MediaTypeOptions, mediaTypes } from './door/media-type.ts'
import { metrics } from './door/metrics.ts'
import {
  createRateLimit,
  type RateLimit,
  type RateLimitOptions,
  rateLimitStatus,
} from './door/rate-limit.ts'
import {
  badCredentials,
  bodyIsNoObject,
  requiresAuthentication,
  tooManyFailures,
  unparsableBody,
} from './door/refusals.ts'
import { repeatedRequests } from './door/repeated-requests.ts'
import { requestLog } from './door/request-log.ts'
import { archiveDownload, type DownloadParts } from './migrations/archive-download.ts'
import type { Rendering } from './migrations/github-json.ts'
import { migrationSteering } from './migrations/migration-steering.ts'
import { migrationSummaries } from './migrations/migration-summaries.ts'
import { progressStreams } from './migrations/progress-stream.ts'
import { userMigrations } from './migrations/user-migrations.ts'
import { userRepositories } from './repositories/user-repositories.ts'
import { adminService } from './service/admin-service.ts'
import { currentUser } from './service/current-user.ts'
import { dashboard } from './service/dashboard.ts'
import type { Dashboard } from './service/dashboard-files.ts'
import { health } from './service/health.ts'

export interface ServerParts
  extends PreflightParts,
    Omit<DownloadParts, 'admission'>,
    DependencyParts {
  db: Db
  now: () => number
  authenticator: Authenticator
  log: Logger
  rendering: Rendering
  mediaType: MediaTypeOptions
  rateLimit: RateLimitOptions
  admission: AdmissionOptions
  /** Addresses or networks whose `x-forwarded-for` is believed. */
  trustedProxies: string[]
  version: string
  /** Undefined where it was not built. */
  dashboard: Dashboard | undefined
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Part of the preview: where it is required, a caller must ask for it by its media type. */
    previewed?: boolean
    /** Does not count against the caller's rate limit. */
    uncounted?: boolean
    /** Types beside JSON that it can answer in. */
    alsoAccepts?: string[]
  }
}

const MOST_BODY_BYTES = 1024 * 1024

/** Every plugin and route, by name. */
export function createServer(parts: ServerParts): FastifyInstance {
  const { documentation } = parts.rendering.addresses
  const admission = createAdmission(parts.admission, documentation)
  const manner = manners(parts.mediaType.vendor)
  const limit = createRateLimit(parts.rateLimit, parts.now)
  const { requestIdHeader } = manner
  const note: NoteAnswered = (answered) => {
    logged(answered)
    counted(answered)
  }
  const repeated = repeatedRequests({ ...parts, limit, note, requestIdHeader })
  const malformed = malformedRequests(documentation)
  const app = Fastify({
    serverFactory: (listener) => admission.server(repeated.before(listener)),
    genReqId: () => randomUUID(),
    bodyLimit: MOST_BODY_BYTES,
    // A repository is named in a path as `owner%2Fname`.
    routerOptions: { maxParamLength: 2 * LONGEST_NAME + 1 },
    trustProxy: parts.trustedProxies.length > 0 ? parts.trustedProxies : false,
    forceCloseConnections: 'idle',
    clientErrorHandler: malformed.refuse,
    // A path that cannot be decoded names nothing.
    frameworkErrors: (_error, request, reply) => onError(new NotFound() as never, request, reply),
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allErrors: true } },
  })
  const onError = errorHandler(documentation, parts.log)

  const streams = progressStreams(parts)
  const keepingAnswers = keepAnswers(repeated)
  app.addHook('preClose', async () => {
    streams.stop()
    repeated.stop()
  })

  malformed.watch(app.server)
  app.decorateRequest('viewer', null)
  app.setErrorHandler(onError)
  app.setNotFoundHandler((request, reply) => {
    manner.greet(request, reply)
    throw new NotFound()
  })
  describeApi(app, parts)
  readJsonBodies(app)
  const needed = dependencies(parts)
  const logged = requestLog(parts.log)
  const counted = metrics(app, { ...parts, shed: admission.shed }, needed)
  app.addHook('onResponse', (request, reply, done) => {
    note(answeredBy(request, reply))
    done()
  })
  health(app, needed)
  archiveDownload(app, { ...parts, admission })
  dashboard(app, parts)
  manner.answerPreflights(app)
  // Twice: some clients put the prefix before every path of a host that is not the vendor's own.
  for (const prefix of ['', '/api/v3']) {
    app.register(
      async (api) => {
        const addresses = parts.rendering.addresses.under(prefix)
        const there = { ...parts, rendering: { ...parts.rendering, addresses } }
        speakTheWire(api, there, manner, limit)
        rateLimitStatus(api, limit)
        currentUser(api, there)
        userRepositories(api, there)
        userMigrations(api, { ...there, keepingAnswer: keepingAnswers(addresses.api) })
        migrationSummaries(api, there)
        adminService(api, there)
        migrationSteering(api, { ...there, streams, admission })
      },
      { prefix },
    )
  }
  return app
}

/** What every operation of the API does before its own handler: who is asking, how often, and in which media type. */
function speakTheWire(
  api: FastifyInstance,
  { authenticator, mediaType }: ServerParts,
  { greet }: ReturnType<typeof manners>,
  limit: RateLimit,
): void {
  const mediaTypeHeader = `x-${mediaType.vendor}-media-type`
  const types = mediaTypes(mediaType)

  function identify(request: FastifyRequest): Soon<Viewer> {
    if (limit.isGuessing(request.ip)) throw tooManyFailures()
    const { authorization } = request.headers
    if (!authorization) throw requiresAuthentication()
    return soon(authenticate(authenticator, authorization), (viewer) => {
      if (viewer) return viewer
      limit.countFailure(request)
      throw badCredentials()
    })
  }

  function admit(viewer: Viewer, request: FastifyRequest, reply: FastifyReply): Soon<void> {
    request.viewer = viewer
    reply.header('x-oauth-scopes', 'repo').header('x-accepted-oauth-scopes', '')
    const { config } = request.routeOptions
    return soon(config.uncounted ? undefined : limit.count(viewer, reply), () => {
      const chosen = types.choose(request.headers.accept, config)
      reply.header(mediaTypeHeader, chosen)
    })
  }

  api.addHook('onRequest', (request, reply, done) => {
    greet(request, reply)
    goOn(
      soon(identify(request), (viewer) => admit(viewer, request, reply)),
      done,
    )
  })
  api.addHook('onSend', (request, reply, _payload, done) => {
    if (reply.statusCode !== 304 || !request.viewer) return done()
    goOn(limit.giveBack(request.viewer, reply), done)
  })
}

function answeredBy(request: FastifyRequest, reply: FastifyReply): Answered {
  return {
    id: request.id,
    method: request.method,
    url: request.url,
    route: request.routeOptions.url,
    status: reply.statusCode,
    ms: reply.elapsedTime,
    login: request.viewer?.account.login,
    ip: request.ip,
  }
}

/** Hooks that call back cost nothing where there is nothing to wait for; those that are async always cost a turn. */
function goOn(ready: Soon<void>, done: (error?: Error) => void): void {
  if (ready instanceof Promise) ready.then(() => done(), done)
  else done()
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
  app.addHook('preValidation', (request, _reply, done) => {
    request.body ??= {}
    done()
  })
}
