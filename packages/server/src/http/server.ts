import { randomUUID } from 'node:crypto'
import { MAX_LIST_LENGTH } from '@godwit/contract/schemas/schema'
import type { WithReserve } from '@godwit/lib/disk-reserve'
import { MAX_NAME_LENGTH } from '@godwit/lib/names'
import { type FieldError, InvalidRequest, NotFound } from '@godwit/lib/request-errors'
import { nextTurn } from '@godwit/lib/turns'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyRequest } from 'fastify'
import { apiHeaders, mediaTypeChooser, watchForwarding } from './middleware/api-headers.ts'
import * as authentication from './middleware/authenticate.ts'
import { compileAtFirstRequest } from './middleware/compile-validators.ts'
import {
  concurrencyLimit,
  createAdmission,
  HEAVY_REQUESTS,
} from './middleware/concurrency-limit.ts'
import { errorHandler, malformedRequestHandler } from './middleware/error-handler.ts'
import * as httpErrors from './middleware/http-errors.ts'
import { createRateLimit } from './middleware/rate-limit.ts'
import { removeForwardedPorts } from './middleware/request.ts'
import { bodyReader, type ReadBody } from './middleware/request-bodies.ts'
import { requestLog } from './middleware/request-log.ts'
import { watchMethods } from './middleware/unsupported-methods.ts'
import { describeApi } from './openapi/describe-api.ts'
import { type DashboardDependencies, dashboard } from './pages/dashboard.ts'
import { addHtmlPageRoutes, collectFirstSegments } from './pages/html-pages.ts'
import { addAdminRoutes } from './routes/admin/admin.ts'
import { addAuditRoutes } from './routes/audit/audit.ts'
import { addCloneRoutes } from './routes/clones/clones.ts'
import { addLicenseRoutes } from './routes/licenses/licenses.ts'
import { addArchiveDownloadRoute } from './routes/migrations/archive-download.ts'
import { addGithubMigrationRoutes } from './routes/migrations/github-migrations.ts'
import { addMigrationActionRoutes } from './routes/migrations/migration-actions.ts'
import * as migrationPaths from './routes/migrations/migration-paths.ts'
import {
  type MigrationDependencies,
  migrationResponses,
} from './routes/migrations/migration-responses.ts'
import {
  addMigrationSummaryRoutes,
  addOwnLocksRoute,
} from './routes/migrations/migration-summaries.ts'
import { ProgressStreams } from './routes/migrations/progress-stream.ts'
import { addOrganizationRoutes } from './routes/organizations/organizations.ts'
import { addRepositoryRoutes } from './routes/repositories/one-repository.ts'
import { addOwnerRepositoriesRoutes } from './routes/repositories/owner-repositories.ts'
import { addUserRepositoriesRoute } from './routes/repositories/repository-list.ts'
import { createSourceReader, type SourceReader } from './routes/repositories/source-reader.ts'
import { addScheduleRoutes } from './routes/schedules/schedules.ts'
import {
  createDependencyProbes,
  type ReadinessDependencies,
} from './routes/service/dependencies.ts'
import { addMetrics } from './routes/service/metrics.ts'
import { addProxyProbeRoute } from './routes/service/proxy-probe.ts'
import * as serviceRoutes from './routes/service/service-routes.ts'
import type { OidcClient } from './routes/sessions/oidc-client.ts'
import { addOidcRoutes } from './routes/sessions/oidc-routes.ts'
import { addSessionRoutes } from './routes/sessions/session.ts'
import { addTokenRoutes } from './routes/tokens/tokens.ts'
import { addUserRoutes } from './routes/users/users.ts'
import { addDeliveryRoutes } from './routes/webhooks/webhook-deliveries.ts'
import * as webhooks from './routes/webhooks/webhooks.ts'
import * as scopes from './scopes/scoped-path.ts'
import type { ApiDependencies, Guards, ServerDependencies } from './server-dependencies.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Part of GitHub's preview: with `--preview required`, clients must send its media type. */
    previewed?: boolean
    /** Does not count against the caller's rate limit. */
    uncounted?: boolean
    /** Needs no token. An invalid token is still rejected. */
    anonymous?: boolean
    /** Not a change, although its method is not GET: read-only tokens may use it. */
    changesNothing?: boolean
    /** Shows tokens of one organization nothing of other owners, so that they may use it. */
    forAnyToken?: boolean
    /** May use the reserve on a full disk, like every DELETE. */
    worksOnFullDisk?: boolean
    /** Media types other than JSON that the route can respond with. */
    alsoAccepts?: string[]
    /** The `resource` of validation errors; default Migration. */
    resource?: NonNullable<FieldError['resource']>
  }
}

const MAX_BODY_BYTES = 1024 * 1024
/** How many requests may wait for each concurrent clone. */
const WAITING_PER_CLONE = 20
/** How long a client may pause while it sends a body. */
const MAX_STALL_MS = 10_000

/** The dependencies and options of the server and all of its routes. */
export interface ServerOptions
  extends ServerDependencies,
    ReadinessDependencies,
    DashboardDependencies {
  /** Absent without an OpenID provider. */
  oidc: OidcClient | undefined
}

/** The dependencies of the API routes. */
interface OperationDependencies extends ApiDependencies, MigrationDependencies {
  sourceReader: SourceReader
  streams: ProgressStreams
}

/** Creates the server with all of its routes. */
export function createServer(options: ServerOptions): FastifyInstance {
  const { documentation } = options.rendering.addresses
  const admission = createAdmission(options.requestLimits, documentation)
  const malformed = malformedRequestHandler(documentation)
  const onError = errorHandler(documentation, options.log)
  const { cors, setApiHeaders, addPreflightRoute } = apiHeaders(options.mediaType.vendor)
  const app = Fastify({
    ...fastifyOptions(options.trustedProxies),
    serverFactory: admission.server,
    clientErrorHandler: malformed.clientErrorHandler,
    // Called if the path cannot be decoded: it matches no route.
    frameworkErrors(_error, request, reply) {
      try {
        setApiHeaders(request, reply)
        throw new NotFound()
      } catch (error) {
        onError(error as FastifyError, request, reply)
      }
    },
  })
  const forwarding = watchForwarding(options.log, options.now)
  const limit = createRateLimit(options.rateLimit, options.now)
  const cloneSlots = cloneLimit(options.cloneSlots)
  const startLimit = concurrencyLimit(HEAVY_REQUESTS)
  const largeResponseLimit = concurrencyLimit(HEAVY_REQUESTS)
  const sourceReader = createSourceReader(options)
  const streams = new ProgressStreams(options)
  app.addHook('preClose', async () => streams.stop())

  malformed.watch(app.server)
  if (options.trustedProxies.length > 0) app.addHook('onRequest', removeForwardedPorts)
  app.decorateRequest('viewer', null)
  app.decorateRequest('scope', null)
  // Responses are never filtered by their schema.
  app.setSerializerCompiler(() => JSON.stringify)
  app.setErrorHandler(onError)
  const methodsOf = watchMethods(app)
  app.setNotFoundHandler((request, reply) => {
    setApiHeaders(request, reply)
    const methods = methodsOf(request)
    if (methods.length === 0) throw new NotFound()
    reply.header('allow', methods.join(', '))
    throw httpErrors.methodNotAllowed()
  })
  describeApi(app, options)
  if (options.reserve) repeatWithReserve(app, options.reserve.withReserve)
  const firstSegments = collectFirstSegments(app)
  const readBody = bodyReader(
    admission,
    Math.min(options.requestLimits.clientTimeoutMs, MAX_STALL_MS),
  )
  readJsonBodies(app, readBody)
  const dependencyProbes = createDependencyProbes(options)
  const metrics = addMetrics(app, {
    ...options,
    dependencyProbes,
    cloneSlots,
    rejectedCount: admission.rejectedCount,
    untrustedCount: forwarding.untrustedCount,
  })
  app.addHook('onResponse', requestLog(options.log))
  app.addHook('onResponse', metrics.onResponse)
  serviceRoutes.addHealthRoutes(app, dependencyProbes)
  serviceRoutes.addMetaRoutes(app, options)
  addProxyProbeRoute(app, options)
  addArchiveDownloadRoute(app, { ...options, cors, admission, downloads: metrics.downloads })
  dashboard(app, options)
  addHtmlPageRoutes(app, { setApiHeaders, firstSegments })
  addPreflightRoute(app)
  const cookies = authentication.sessionCookies(options.rendering.addresses.api)
  const logins = authentication.failedLogins(options)
  const guards = { setApiHeaders, limit, forwarding, logins, cookies }
  addSessionRoutes(app, { ...options, ...guards })
  if (options.oidc) addOidcRoutes(app, options.oidc, { ...options, ...guards })
  addCloneRoutes(app, {
    ...options,
    ...guards,
    source: options.cloneSlots.max > 0 ? options.source : undefined,
    outcomes: metrics.clones,
    slots: cloneSlots,
    admission,
    readBody,
    tokens: options.cloneTokens,
  })
  // Some clients add `/api/v3` to every path unless the host is github.com.
  for (const prefix of ['', '/api/v3']) {
    const addresses = options.rendering.addresses.under(prefix)
    const rendering = { ...options.rendering, addresses }
    const apiDependencies = {
      ...options,
      startLimit,
      largeResponseLimit,
      sourceReader,
      rendering,
      admission,
      streams,
      migrationResponses: migrationResponses({ ...options, rendering, largeResponseLimit }),
    }
    app.register(async (api) => addOperations(api, apiDependencies, guards), { prefix })
  }
  return app
}

/** Lets every route that is added later, and that frees space, succeed on a full disk. */
function repeatWithReserve(app: FastifyInstance, withReserve: WithReserve): void {
  app.addHook('onRoute', (route) => {
    const { handler, method, config } = route
    if (method !== 'DELETE' && !config?.worksOnFullDisk) return
    route.handler = function (request, reply) {
      return withReserve(async () => handler.call(this, request, reply))
    }
  })
}

function fastifyOptions(trustedProxies: string[]) {
  return {
    genReqId: () => randomUUID(),
    // A path may name a repository as `owner%2Fname`.
    routerOptions: { maxParamLength: 2 * MAX_NAME_LENGTH + 1 },
    trustProxy: trustedProxies.length > 0 ? trustedProxies : false,
    forceCloseConnections: 'idle' as const,
    // Requests that arrive while the server closes get a normal response.
    return503OnClosing: false,
    schemaController: { compilersFactory: compileAtFirstRequest() },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allErrors: true } },
  }
}

/** One caller gets at most half of the slots, so that a slow client does not block others. */
const cloneLimit = (slots: ServerDependencies['cloneSlots']) =>
  concurrencyLimit({
    ...slots,
    maxPerCaller: Math.max(1, Math.ceil(slots.max / 2)),
    maxWaiting: WAITING_PER_CLONE * slots.max,
    createError: () =>
      new httpErrors.HttpError(
        503,
        'Too many clones are running at the moment. Please try again later.',
      ),
  })

/** Adds the operations of the API, all of which share `addApiHooks`. */
function addOperations(
  api: FastifyInstance,
  dependencies: OperationDependencies,
  guards: Guards,
): void {
  addApiHooks(api, dependencies, guards)
  addUserRoutes(api, dependencies, guards.limit)
  addUserRepositoriesRoute(api, dependencies)
  addOwnerRepositoriesRoutes(api, dependencies)
  addRepositoryRoutes(api, dependencies)
  addLicenseRoutes(api, dependencies)
  serviceRoutes.addVersionsRoute(api)
  serviceRoutes.addZenRoute(api)
  addOrganizationRoutes(api, dependencies)
  addOwnLocksRoute(api, dependencies)
  addAdminRoutes(api, dependencies, guards.logins)
  addAuditRoutes(api, dependencies, guards.logins)
  addTokenRoutes(api, dependencies)
  addMigrations(api, dependencies, migrationPaths.CALLER_PATH)
  addWebhooks(api, dependencies, webhooks.CALLER_WEBHOOKS_PATH)
  api.register(async (organizationApi) => {
    scopes.requireOrganization(organizationApi, dependencies)
    addMigrations(organizationApi, dependencies, migrationPaths.ORGANIZATION_PATH)
    addGithubMigrationRoutes(organizationApi, dependencies, migrationPaths.ORGANIZATION_ID_PATH)
    addWebhooks(organizationApi, dependencies, webhooks.ORGANIZATION_WEBHOOKS_PATH)
  })
}

const addMigrations: scopes.AddScopedRoutes<OperationDependencies> = (api, dependencies, path) => {
  addGithubMigrationRoutes(api, dependencies, path)
  addMigrationSummaryRoutes(api, dependencies, path)
  addMigrationActionRoutes(api, dependencies, path)
  addScheduleRoutes(api, dependencies, path)
}

const addWebhooks: scopes.AddScopedRoutes = (api, dependencies, path) => {
  webhooks.addWebhookRoutes(api, dependencies, path)
  addDeliveryRoutes(api, dependencies, path)
}

/** Adds the hooks that every operation has: common headers, authentication, rate limit, media type. */
function addApiHooks(
  api: FastifyInstance,
  { authenticator, mediaType }: ServerDependencies,
  { setApiHeaders, limit, forwarding, logins, cookies }: Guards,
): void {
  const mediaTypeHeader = `x-${mediaType.vendor}-media-type`
  const chooseMediaType = mediaTypeChooser(mediaType)

  api.addHook('onRequest', async (request, reply) => {
    setApiHeaders(request, reply)
    forwarding.check(request)
    const { config } = request.routeOptions
    const credentials = authentication.readCredentials(request)
    // Without a token, the request may come from a page of this server with a session cookie.
    const viewer = credentials
      ? await logins.viewerOf(credentials.token, request.ip)
      : await authenticator.viewerInSession(cookies.read(request), request.ip)
    if (!viewer && !config.anonymous) throw httpErrors.requiresAuthentication()
    request.viewer = viewer ?? null
    if (viewer) reply.header('x-oauth-scopes', 'repo').header('x-accepted-oauth-scopes', '')
    if (!config.uncounted) await limit.count(request, reply)
    reply.header(mediaTypeHeader, chooseMediaType(request.headers.accept, config))
    authentication.checkTokenLimits(request, config)
  })
  api.addHook('onSend', (request, reply, _payload, done) => {
    // As on GitHub, without a token every request counts. `*` does not prove that the client has the response.
    const isFree =
      reply.statusCode === 304 && request.viewer && !request.routeOptions.config.uncounted
    if (!isFree || ANY_ETAG.test(request.headers['if-none-match'] ?? '')) return done()
    limit.giveBack(request, reply).then(() => done(), done)
  })
}

const ANY_ETAG = /(?:^|,)\s*\*\s*(?:,|$)/
const CONTENT_TYPE = /^[\w.+-]+\/[\w.+-]+\s*(;|$)/

/** Reads every body as JSON, whatever its content-type: `curl -d` sends JSON as a form. */
function readJsonBodies(app: FastifyInstance, readBody: ReadBody): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw
    // Fastify would reject it before it chooses the parser.
    if (!CONTENT_TYPE.test(headers['content-type'] ?? 'none/none')) delete headers['content-type']
    done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async (request: FastifyRequest) => {
    const received = await readBody(request, {
      maxBytes: MAX_BODY_BYTES,
      tooLarge: httpErrors.bodyTooLarge,
    })
    try {
      await nextTurn()
      return parseBody(received.bytes.toString())
    } finally {
      received.release()
    }
  })
  app.addHook('preValidation', (request, _reply, done) => {
    request.body ??= {}
    done()
  })
}

function parseBody(text: string): object {
  if (text === '') return {}
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw httpErrors.unparsableBody()
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new httpErrors.HttpError(400, 'Body should be a JSON object')
  // Checked before validation, which would report every invalid element of a long list.
  for (const [field, value] of Object.entries(body)) {
    if (!Array.isArray(value) || value.length <= MAX_LIST_LENGTH) continue
    const message = `A list may have at most ${MAX_LIST_LENGTH} elements.`
    throw new InvalidRequest([{ field, code: 'custom', message }])
  }
  return body
}
