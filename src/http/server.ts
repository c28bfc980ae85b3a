import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Viewer } from '../accounts/account.ts'
import { LONGEST_NAME } from '../lib/names.ts'
import { nextTurn } from '../lib/turns.ts'
import { type Fault, InvalidRequest, NotFound } from '../migrations/errors.ts'
import { MAX_LISTED } from '../wire/schema.ts'
import { describeApi } from './description/describe-api.ts'
import { createAdmission } from './middleware/admission.ts'
import { apiHeaders } from './middleware/api-headers.ts'
import { tokenIn } from './middleware/authenticate.ts'
import { concurrencyLimit } from './middleware/concurrency-limit.ts'
import { dependencies } from './middleware/dependencies.ts'
import { type FailedLogins, failedLogins } from './middleware/failed-logins.ts'
import { type Forwarding, watchForwarding } from './middleware/forwarding.ts'
import { errorHandler } from './middleware/github-errors.ts'
import { heavyRequests } from './middleware/heavy-requests.ts'
import { lateChecks } from './middleware/late-checks.ts'
import { malformedRequests } from './middleware/malformed-requests.ts'
import { mediaTypes } from './middleware/media-type.ts'
import { metrics } from './middleware/metrics.ts'
import { createRateLimit, type RateLimit, rateLimitStatus } from './middleware/rate-limit.ts'
import {
  bodyIsNoObject,
  bodyTooLarge,
  requiresAuthentication,
  tooManyClones,
  unparsableBody,
} from './middleware/refusals.ts'
import { bodyReader, type ReadBody } from './middleware/request-bodies.ts'
import type { Answered } from './middleware/request-log.ts'
import { requestLog } from './middleware/request-log.ts'
import { type SessionCookies, sessionCookies } from './middleware/session-cookie.ts'
import { countDownloads } from './middleware/taking-client.ts'
import { dashboard } from './pages/dashboard.ts'
import { collectFirstSegments, repositoryPage } from './pages/repository-page.ts'
import { adminActions } from './routes/admin/admin-actions.ts'
import { adminService } from './routes/admin/admin-service.ts'
import { clones } from './routes/clones/clones.ts'
import { licenses } from './routes/licenses/licenses.ts'
import { archiveDownload } from './routes/migrations/archive-download.ts'
import { githubMigrations } from './routes/migrations/github-migrations.ts'
import { migrationActions } from './routes/migrations/migration-actions.ts'
import { migrationText } from './routes/migrations/migration-json.ts'
import {
  CALLER_PATH,
  enterOrganization,
  type MigrationsPath,
  ORGANIZATION_ID_PATH,
  ORGANIZATION_PATH,
} from './routes/migrations/migration-paths.ts'
import { migrationSummaries, ownLocks } from './routes/migrations/migration-summaries.ts'
import { ProgressStreams } from './routes/migrations/progress-stream.ts'
import { organizations } from './routes/organizations/organizations.ts'
import { oneRepository } from './routes/repositories/one-repository.ts'
import { renderedRepositories } from './routes/repositories/rendered-repositories.ts'
import { userRepositories } from './routes/repositories/user-repositories.ts'
import { schedules } from './routes/schedules/schedules.ts'
import { currentUser, users } from './routes/users/users.ts'
import { WEBHOOKS_OF_CALLER, WEBHOOKS_OF_ORGANIZATION } from './routes/webhooks/webhook-paths.ts'
import { webhooks } from './routes/webhooks/webhooks.ts'
import type { ApiParts, ServerParts } from './server-parts.ts'
import { health } from './service/health.ts'
import { meta } from './service/meta.ts'
import { proxyProbe } from './service/proxy-probe.ts'
import { versions } from './service/versions.ts'
import { session } from './sessions/session.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Part of the preview: where it is required, a caller must ask for it by its media type. */
    previewed?: boolean
    /** Does not count against the caller's rate limit. */
    uncounted?: boolean
    /** May be asked without a token; a token that is not good is refused all the same. */
    anonymous?: boolean
    /** Types beside JSON that it can answer in. */
    alsoAccepts?: string[]
    /** What a fault of the request is a fault of; a migration unless told. */
    resource?: NonNullable<Fault['resource']>
  }
}

const MAX_BODY_BYTES = 1024 * 1024
/** For each git that may serve clones at a time, so many requests may wait. */
const CLONES_WAITING_EACH = 20
/** How long nothing may arrive of a body. */
const MAX_STALL_MS = 10_000

/** Every plugin and route, by name. */
export function createServer(parts: ServerParts): FastifyInstance {
  const { documentation } = parts.rendering.addresses
  const admission = createAdmission(parts.limits, documentation)
  const malformed = malformedRequests(documentation)
  const onError = errorHandler(documentation, parts.log)
  const { greet, answerPreflights } = apiHeaders(parts.mediaType.vendor)
  const app = Fastify({
    ...usualOptions(parts.trustedProxies),
    serverFactory: admission.server,
    clientErrorHandler: malformed.refuse,
    frameworkErrors(_error, request, reply) {
      onError(refusalOfPath(() => greet(request, reply)) as never, request, reply)
    },
  })
  const forwarding = watchForwarding(parts.log, parts.now)
  const limit = createRateLimit(parts.rateLimit, parts.now)
  const downloads = countDownloads()
  const places = cloneSlots(parts.cloneSlots)
  const heavy = { starts: heavyRequests(), largeAnswers: heavyRequests() }
  const cloned = { outcomes: countDownloads(), places }
  const streams = new ProgressStreams(parts)
  app.addHook('preClose', async () => streams.stop())

  malformed.watch(app.server)
  app.decorateRequest('viewer', null)
  app.decorateRequest('scope', null)
  app.setErrorHandler(onError)
  app.setNotFoundHandler((request, reply) => {
    greet(request, reply)
    throw new NotFound()
  })
  describeApi(app, parts)
  const firstSegments = collectFirstSegments(app)
  const readBody = bodyReader(admission, Math.min(parts.limits.clientTimeoutMs, MAX_STALL_MS))
  readJsonBodies(app, readBody)
  const needed = dependencies(parts)
  const { shed } = admission
  const measured = { ...parts, downloads, cloned, shed, untrusted: forwarding.untrusted }
  tellAnswers(app, [requestLog(parts.log), metrics(app, measured, needed)])
  health(app, needed)
  meta(app, parts)
  proxyProbe(app, parts)
  archiveDownload(app, { ...parts, admission, downloads })
  dashboard(app, parts)
  repositoryPage(app, { greet, firstSegments })
  answerPreflights(app)
  const cookies = sessionCookies(parts.rendering.addresses.api)
  const logins = failedLogins(parts)
  const door = { greet, limit, forwarding, logins, cookies }
  session(app, { ...parts, ...door })
  const source = parts.cloneSlots.max > 0 ? parts.source : undefined
  clones(app, {
    ...parts,
    ...door,
    ...cloned,
    source,
    admission,
    readBody,
    tokens: parts.cloneTokens,
  })
  // Twice: some clients put the prefix before every path of a host that is not the vendor's own.
  for (const prefix of ['', '/api/v3']) {
    const addresses = parts.rendering.addresses.under(prefix)
    const rendering = { ...parts.rendering, addresses }
    const rendered = renderedRepositories(parts.db, addresses)
    const text = migrationText(rendering)
    const there = { ...parts, ...heavy, rendering, admission, streams, rendered, text }
    app.register(async (api) => addOperations(api, there, door), { prefix })
  }
  return app
}

/** A path that cannot be decoded names nothing; whoever asks is greeted all the same. */
function refusalOfPath(greet: () => void): unknown {
  try {
    greet()
    return new NotFound()
  } catch (refusal) {
    return refusal
  }
}

function usualOptions(trustedProxies: string[]) {
  return {
    genReqId: () => randomUUID(),
    // A repository is named in a path as `owner%2Fname`.
    routerOptions: { maxParamLength: 2 * LONGEST_NAME + 1 },
    trustProxy: trustedProxies.length > 0 ? trustedProxies : false,
    forceCloseConnections: 'idle' as const,
    // What comes while it closes is answered like anything else.
    return503OnClosing: false,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allErrors: true } },
    schemaController: { compilersFactory: lateChecks },
  }
}

/** Of one caller at most half: one whose line is slow does not keep others out. */
const cloneSlots = ({ max, waitMs }: ServerParts['cloneSlots']) =>
  concurrencyLimit({
    max,
    maxPerCaller: Math.max(1, Math.ceil(max / 2)),
    maxWaiting: CLONES_WAITING_EACH * max,
    waitMs,
    refusal: tooManyClones,
  })

function tellAnswers(app: FastifyInstance, listeners: ((answered: Answered) => void)[]): void {
  app.addHook('onResponse', (request, reply, done) => {
    const answered = answeredBy(request, reply)
    for (const listener of listeners) listener(answered)
    done()
  })
}

/** The operations of the API, for those who may ask. */
function addOperations(api: FastifyInstance, parts: ApiParts, door: Door): void {
  speakTheWire(api, parts, door)
  rateLimitStatus(api, door.limit)
  currentUser(api, parts)
  userRepositories(api, parts)
  oneRepository(api, parts)
  users(api, parts)
  licenses(api, parts)
  versions(api)
  organizations(api, parts)
  ownLocks(api, parts)
  adminService(api, parts)
  adminActions(api, parts)
  addMigrations(api, parts, CALLER_PATH)
  webhooks(api, parts, WEBHOOKS_OF_CALLER)
  api.register(async (there) => {
    enterOrganization(there, parts)
    addMigrations(there, parts, ORGANIZATION_PATH)
    githubMigrations(there, parts, ORGANIZATION_ID_PATH)
    webhooks(there, parts, WEBHOOKS_OF_ORGANIZATION)
  })
}

function addMigrations(api: FastifyInstance, parts: ApiParts, place: MigrationsPath): void {
  githubMigrations(api, parts, place)
  migrationSummaries(api, parts, place)
  migrationActions(api, parts, place)
  schedules(api, parts, place)
}

interface Door {
  greet: ReturnType<typeof apiHeaders>['greet']
  limit: RateLimit
  forwarding: Forwarding
  logins: FailedLogins
  cookies: SessionCookies
}

/** What every operation of the API does before its own handler: who is asking, how often, and in which media type. */
function speakTheWire(
  api: FastifyInstance,
  { authenticator, mediaType }: ServerParts,
  door: Door,
): void {
  const mediaTypeHeader = `x-${mediaType.vendor}-media-type`
  const types = mediaTypes(mediaType)

  function identify(request: FastifyRequest): Promise<Viewer | null> {
    const { authorization } = request.headers
    if (!authorization) return identifyBySession(request)
    return door.logins.viewerOf(tokenIn(authorization), request.ip)
  }

  /** Our own pages in a browser; nobody else has a session. */
  async function identifyBySession(request: FastifyRequest): Promise<Viewer | null> {
    const viewer = await authenticator.viewerInSession(door.cookies.read(request))
    if (viewer) return viewer
    if (request.routeOptions.config.anonymous) return null
    throw requiresAuthentication()
  }

  api.addHook('onRequest', async (request, reply) => {
    door.greet(request, reply)
    door.forwarding.check(request)
    const viewer = await identify(request)
    request.viewer = viewer
    if (viewer) reply.header('x-oauth-scopes', 'repo').header('x-accepted-oauth-scopes', '')
    const { config } = request.routeOptions
    if (!config.uncounted) await door.limit.count({ viewer, ip: request.ip }, reply)
    reply.header(mediaTypeHeader, types.choose(request.headers.accept, config))
  })
  api.addHook('onSend', (request, reply, _payload, done) => {
    if (reply.statusCode !== 304) return done()
    door.limit.giveBack(request, reply).then(() => done(), done)
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

function listTooLong(field: string): InvalidRequest {
  const message = `A list may have at most ${MAX_LISTED} elements.`
  return new InvalidRequest([{ field, code: 'custom', message }])
}

/** Bodies are JSON whatever their content-type says: `curl -d` calls everything a form. */
function readJsonBodies(app: FastifyInstance, readBody: ReadBody): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async (request: FastifyRequest) => {
    const received = await readBody(request, { maxBytes: MAX_BODY_BYTES, tooLarge: bodyTooLarge })
    try {
      await nextTurn()
      return jsonBodyOf(received.bytes.toString())
    } finally {
      received.release()
    }
  })
  app.addHook('preValidation', (request, _reply, done) => {
    request.body ??= {}
    done()
  })
}

function jsonBodyOf(text: string): object {
  if (text === '') return {}
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw unparsableBody()
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw bodyIsNoObject()
  // Before it is checked: every wrong element of a list would become an error of its own.
  for (const [field, value] of Object.entries(body)) {
    if (Array.isArray(value) && value.length > MAX_LISTED) throw listTooLong(field)
  }
  return body
}
