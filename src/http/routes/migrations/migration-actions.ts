import type { FastifyInstance, FastifyRequest } from 'fastify'
import { cancelMigration } from '../../../migrations/cancel-migration.ts'
import { damagedIn } from '../../../migrations/damaged-archives.ts'
import { forecast } from '../../../migrations/preflight.ts'
import { progressOf } from '../../../migrations/progress.ts'
import { describeReport, reportOf } from '../../../migrations/report.ts'
import { forecastRetry } from '../../../migrations/retry-forecast.ts'
import { retryMigration } from '../../../migrations/retry-migration.ts'
import type * as wire from '../../../wire/types.ts'
import { audit } from '../../middleware/audit.ts'
import { viewerOf } from '../../middleware/authenticate.ts'
import { EVENT_STREAM, openEventStream } from '../../middleware/event-stream.ts'
import { answer, answerLong, answerLongIfChanged, isLarge } from '../../middleware/json-answer.ts'
import { acceptedTypes } from '../../middleware/media-type.ts'
import type { ApiParts } from '../../server-parts.ts'
import * as operations from './migration-actions-operations.ts'
import { migrationJson } from './migration-json.ts'
import type { MigrationsPath } from './migration-paths.ts'
import { type ById, namedMigration, scopeOf } from './named-migration.ts'
import { forecastJson, progressJson, reportJson, retryForecastJson } from './progress-json.ts'
import { endId } from './progress-stream.ts'
import { startRequestOf } from './start-request.ts'
import { answerStarted } from './started-answer.ts'

const TEXT = 'text/plain'

/** Seeing and steering a migration: ours alone, so no preview is asked for. */
export function migrationActions(
  app: FastifyInstance,
  parts: ApiParts,
  place: MigrationsPath,
): void {
  seeing(app, parts, place)
  steering(app, parts, place)
}

function seeing(
  app: FastifyInstance,
  { db, now, streams, admission, largeAnswers }: ApiParts,
  { path, describe }: MigrationsPath,
): void {
  app.get<ById>(
    `${path}/:migration_id/progress`,
    { config: { alsoAccepts: [EVENT_STREAM] }, schema: describe(operations.getProgress) },
    async (request, reply) => {
      const migration = await namedMigration(db, request)
      if (wants(request, EVENT_STREAM)) {
        const seen = Number(request.headers['last-event-id']) || 0
        // Nothing is left to tell: this is what makes an EventSource stop coming back.
        if (seen >= endId({ repositories: Array(migration.repositoryCount) })) {
          return reply.code(204).send()
        }
        // Only the headers are asked for: there is nothing to wait for.
        if (request.method === 'HEAD') return openEventStream(reply).end()
        const viewer = viewerOf(request)
        admission.stream(reply.raw, viewer.account.id)
        return streams.listen(migration, viewer, openEventStream(reply), seen)
      }
      if (isLarge(migration.repositoryCount)) await largeAnswers.begin(request, reply)
      const body = progressJson(await progressOf(db, migration), now())
      return answerLongIfChanged(request, reply, body)
    },
  )

  app.get<ById>(
    `${path}/:migration_id/report`,
    { config: { alsoAccepts: [TEXT] }, schema: describe(operations.getReport) },
    async (request, reply) => {
      const migration = await namedMigration(db, request)
      if (isLarge(migration.repositoryCount)) await largeAnswers.begin(request, reply)
      const damaged = migration.archiveExpiresAt === null ? [] : await damagedIn(db, migration)
      const report = reportOf(migration, await progressOf(db, migration), damaged, now())
      if (wants(request, TEXT)) {
        return reply.type('text/plain; charset=utf-8').send(describeReport(report))
      }
      const body = reportJson(report, now())
      return answerLongIfChanged(request, reply, body)
    },
  )
}

function steering(app: FastifyInstance, parts: ApiParts, { path, describe }: MigrationsPath): void {
  const { db, log, rendering, starts } = parts
  app.post<ById>(
    `${path}/:migration_id/cancel`,
    { schema: describe(operations.cancelMigration) },
    async (request, reply) => {
      const migration = await namedMigration(db, request)
      const cancelled = await cancelMigration(parts, migration, () =>
        audit(log, request, 'migration.cancel', migration),
      )
      return answer(reply, migrationJson(cancelled, [], rendering))
    },
  )

  app.get<ById>(
    `${path}/:migration_id/retry`,
    { schema: describe(operations.forecastRetry) },
    async (request, reply) => {
      const migration = await namedMigration(db, request)
      const signal = await starts.begin(request, reply)
      const forecast = await forecastRetry({ ...parts, signal }, scopeOf(request), migration)
      return answer(reply, retryForecastJson(forecast))
    },
  )

  app.post<ById & { Body: wire.RetryRequest }>(
    `${path}/:migration_id/retry`,
    { schema: describe(operations.retryMigration) },
    async (request, reply) => {
      const migration = await namedMigration(db, request)
      const asked = { allowPartial: request.body.allow_partial ?? false }
      const signal = await starts.begin(request, reply)
      const retried = await retryMigration(
        { ...parts, signal },
        scopeOf(request),
        migration,
        asked,
        (started) => audit(log, request, 'migration.retry', started),
      )
      const tokenOf = parts.cloneTokens.for(viewerOf(request))
      return answerStarted(reply, retried, { ...parts, tokenOf, isBrief: false })
    },
  )

  app.post<{ Body: wire.StartRequest }>(
    `${path}/preflight`,
    { schema: describe(operations.forecastMigration) },
    async (request, reply) => {
      const asked = startRequestOf(request.body)
      const signal = await starts.begin(request, reply)
      return answerLong(
        reply,
        forecastJson(await forecast({ ...parts, signal }, scopeOf(request), asked)),
      )
    },
  )
}

function wants(request: FastifyRequest, type: string): boolean {
  return acceptedTypes(request.headers.accept).includes(type)
}
