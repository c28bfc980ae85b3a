import { startRequestSchema } from '@godwit/contract/schemas/migration'
import { retryRequestSchema } from '@godwit/contract/schemas/progress'
import { EXTENSION, string } from '@godwit/contract/schemas/schema'
import type * as wire from '@godwit/contract/schemas/types'
import type { FastifyRequest } from 'fastify'
import { audited } from '../../../accounts/audit-log.ts'
import { damagedRepositoriesIn } from '../../../migrations/archive-store.ts'
import { cancelMigration } from '../../../migrations/end-migration.ts'
import { forecast } from '../../../migrations/forecast.ts'
import { aboutMigration } from '../../../migrations/migration.ts'
import { describeReport, progressOf, reportOf } from '../../../migrations/progress.ts'
import { readQuota } from '../../../migrations/quota.ts'
import { forecastRetry, retryMigration } from '../../../migrations/retry-migration.ts'
import * as openapi from '../../description/operation.ts'
import { prefersOver } from '../../middleware/api-headers.ts'
import {
  isLargeResponse,
  sendJson,
  sendJsonInTurns,
  sendJsonWithEtag,
} from '../../middleware/json-response.ts'
import { actorOf, requireViewer } from '../../middleware/request.ts'
import { EVENT_STREAM, openEventStream } from '../../middleware/response-stream.ts'
import { migrationJson, startRequestOf } from '../../rendering/migration-json.ts'
import { type AddScopedRoutes, scopeOf } from '../../scopes/scoped-path.ts'
import { type ById, migrationInPath } from './migration-paths.ts'
import type { MigrationDependencies } from './migration-responses.ts'
import * as render from './progress-json.ts'
import { endId, type ProgressStreams } from './progress-stream.ts'
import { STARTED, sendStarted } from './start-migration.ts'

const TEXT = 'text/plain'

const eventsSchema = {
  ...string,
  description: 'Server-sent events. The data of each event is JSON.',
  contentMediaType: 'text/event-stream',
  contentSchema: {
    anyOf: [
      openapi.schemaRef('repository-progress'),
      openapi.schemaRef('progress-update'),
      openapi.schemaRef('progress-end'),
    ],
  },
}

const routes = openapi.routes('Migrations')({
  'migrations/get-progress': {
    config: { alsoAccepts: [EVENT_STREAM] },
    summary: 'Follow the progress of a migration',
    description: `With \`accept: text/event-stream\`, the response is a stream of server-sent events: \`repository\` for each finished repository (schema \`repository-progress\`), \`progress\` with the new totals, the state, and the repositories that are being exported (\`progress-update\`), and \`end\` (\`progress-end\`). ${EXTENSION}`,
    parameters: [
      openapi.inHeader(
        'last-event-id',
        'ID of the last event that was received, to resume a stream. Browsers send it automatically.',
      ),
    ],
    responses: {
      ...openapi.withContentType(
        'text/event-stream',
        openapi.recordResponses('The progress.', 'progress'),
        eventsSchema,
      ),
      204: { description: 'All events have been sent already.' },
    },
  },
  'migrations/get-report': {
    config: { alsoAccepts: [TEXT] },
    summary: 'Get the report of a migration',
    description: `Which repositories were exported, reused and skipped, with reasons. With \`accept: text/plain\` as plain text. ${EXTENSION}`,
    responses: openapi.withContentType(
      'text/plain',
      openapi.recordResponses('The report.', 'report'),
    ),
  },
  'migrations/cancel': {
    config: { worksOnFullDisk: true },
    summary: 'Cancel a migration',
    description: `The migration becomes \`failed\` (\`cancelled\` in its summary, progress and report), and its locks are released. Repositories exported so far are kept for a retry. ${EXTENSION}`,
    responses: {
      200: openapi.jsonResponse('The migration is cancelled.', {
        schema: openapi.schemaRef('migration'),
        example: 'cancelled',
      }),
      422: openapi.errorResponse('invalid'),
    },
  },
  'migrations/get-retry-forecast': {
    summary: 'Get a forecast of the retry of a migration',
    description: `The repositories that could not be exported, whether they have changed since then, and the repositories that no longer exist. Starts nothing. ${EXTENSION}`,
    responses: { 200: openapi.recordResponse('The forecast.', 'retry-forecast') },
  },
  'migrations/retry': {
    summary: 'Retry a migration',
    description: `Starts a new migration of the same repositories with the same name and options. Unchanged repositories are reused. With \`allow_partial\`, repositories that cannot be exported or no longer exist are skipped. ${EXTENSION}`,
    body: retryRequestSchema,
    responses: { 201: STARTED },
  },
  'migrations/preflight': {
    config: { changesNothing: true },
    summary: 'Get an estimate of a migration',
    description: `Takes the same body as starting a migration and makes the same checks, but starts nothing. ${EXTENSION}`,
    body: startRequestSchema,
    responses: {
      200: openapi.recordResponse('The estimate.', 'forecast'),
    },
  },
  'migrations/get-quota': {
    summary: 'Get the quota of archives and what is used of it',
    description: EXTENSION,
    responses: openapi.recordResponses('The quota.', 'quota'),
  },
})

const prefers = (request: FastifyRequest, type: string): boolean =>
  prefersOver(request.headers.accept, [type])

/** Operations that GitHub does not have, so no preview is required. */
export const addMigrationActionRoutes: AddScopedRoutes<
  MigrationDependencies & { streams: ProgressStreams }
> = (app, dependencies, { path, options }) => {
  const { db, now, rendering, startLimit, largeResponseLimit, maxArchiveBytes } = dependencies
  const one = `${path}/:migration_id`

  const eventOptions = options(routes['migrations/get-progress'])
  app.get<ById>(`${one}/progress`, eventOptions, async (request, reply) => {
    const migration = await migrationInPath(db, request)
    if (prefers(request, EVENT_STREAM)) {
      const lastEventId = Number(request.headers['last-event-id']) || 0
      // An EventSource stops reconnecting when it gets 204.
      if (lastEventId >= endId(migration.repositoryCount)) return reply.code(204).send()
      if (request.method === 'HEAD') return openEventStream(reply).end()
      const viewer = requireViewer(request)
      dependencies.admission.stream(reply.raw, viewer.account.id)
      return dependencies.streams.listen(migration, viewer, openEventStream(reply), lastEventId)
    }
    if (isLargeResponse(migration.repositoryCount)) await largeResponseLimit.begin(request, reply)
    const body = render.progressJson(await progressOf(db, migration), now())
    return sendJsonInTurns(reply, body, { hasEtag: true })
  })

  const reportOptions = options(routes['migrations/get-report'])
  app.get<ById>(`${one}/report`, reportOptions, async (request, reply) => {
    const migration = await migrationInPath(db, request)
    if (isLargeResponse(migration.repositoryCount)) await largeResponseLimit.begin(request, reply)
    const damaged =
      migration.archiveExpiresAt === null ? [] : await damagedRepositoriesIn(db, migration)
    const metadata = { damaged, installedVersion: dependencies.installedVersion, now: now() }
    const report = reportOf(migration, await progressOf(db, migration), metadata)
    return prefers(request, TEXT)
      ? reply.type('text/plain; charset=utf-8').send(describeReport(report))
      : sendJsonInTurns(reply, render.reportJson(report, now()), { hasEtag: true })
  })

  app.post<ById>(`${one}/cancel`, options(routes['migrations/cancel']), async (request, reply) => {
    const migration = await migrationInPath(db, request)
    const cancelled = await audited(dependencies, actorOf(request), (record) =>
      cancelMigration(dependencies, migration, (tx) =>
        record(tx, 'migration.cancel', aboutMigration(migration)),
      ),
    )
    return sendJson(reply, migrationJson(cancelled, [], rendering, scopeOf(request).owner))
  })

  const forecastOptions = options(routes['migrations/get-retry-forecast'])
  app.get<ById>(`${one}/retry`, forecastOptions, async (request, reply) => {
    const migration = await migrationInPath(db, request)
    const signal = await startLimit.begin(request, reply)
    const forecast = await forecastRetry({ ...dependencies, signal }, scopeOf(request), migration)
    return sendJson(reply, render.retryForecastJson(forecast))
  })

  type Retry = ById & { Body: wire.RetryRequest }
  app.post<Retry>(`${one}/retry`, options(routes['migrations/retry']), async (request, reply) => {
    const migration = await migrationInPath(db, request)
    const signal = await startLimit.begin(request, reply)
    const { allow_partial: allowPartial = false } = request.body
    const scope = scopeOf(request)
    const retried = await audited(dependencies, actorOf(request), (record) =>
      retryMigration(
        { ...dependencies, signal },
        scope,
        migration,
        { allowPartial },
        (tx, started) => record(tx, 'migration.retry', aboutMigration(started)),
      ),
    )
    return sendStarted(dependencies, reply, retried)
  })

  type Start = { Body: wire.StartRequest }
  const preflightOptions = options(routes['migrations/preflight'])
  app.post<Start>(`${path}/preflight`, preflightOptions, async (request, reply) => {
    const signal = await startLimit.begin(request, reply)
    const start = startRequestOf(request.body)
    const estimate = await forecast({ ...dependencies, signal }, scopeOf(request), start)
    return sendJsonInTurns(reply, render.forecastJson(estimate), { hasEtag: false })
  })

  app.get(`${path}/quota`, options(routes['migrations/get-quota']), async (request, reply) => {
    const quota = await readQuota(db, scopeOf(request).owner, maxArchiveBytes)
    return sendJsonWithEtag(reply, render.quotaJson(quota))
  })
}
