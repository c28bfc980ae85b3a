import { type StartRequest, startRequestSchema } from '@godwit/contract/schemas/migration'
import type { FastifyReply } from 'fastify'
import { audited } from '../../../accounts/audit-log.ts'
import { aboutMigration, type Migration } from '../../../migrations/migration.ts'
import { startMigration } from '../../../migrations/start-migration.ts'
import * as openapi from '../../description/operation.ts'
import { actorOf } from '../../middleware/request.ts'
import { migrationsAddress, startRequestOf } from '../../rendering/migration-json.ts'
import { type AddScopedRoutes, scopeOf } from '../../scopes/scoped-path.ts'
import type { ApiDependencies } from '../../server-dependencies.ts'
import type { MigrationDependencies } from './migration-responses.ts'

/** Describes the response of `sendStarted`. */
export const STARTED = openapi.jsonResponse('Created.', {
  schema: openapi.schemaRef('migration'),
  example: 'started',
  headers: ['location'],
})

const routes = openapi.routes('Migrations')({
  'migrations/start-for-authenticated-user': {
    summary: 'Start a migration',
    description:
      'Starts an export of the repositories. The caller must own or administer all of them.',
    body: startRequestSchema,
    responses: { 201: STARTED },
  },
})

export const addStart: AddScopedRoutes<MigrationDependencies> = (
  app,
  dependencies,
  { path, options },
) => {
  app.post<{ Body: StartRequest }>(
    path,
    options(routes['migrations/start-for-authenticated-user']),
    async (request, reply) => {
      const signal = await dependencies.startLimit.begin(request, reply)
      const start = startRequestOf(request.body)
      const started = await audited(dependencies, actorOf(request), (record) =>
        startMigration({ ...dependencies, signal }, scopeOf(request), start, (tx, migration) =>
          record(tx, 'migration.start', aboutMigration(migration)),
        ),
      )
      const isBrief = request.body.exclude?.includes('repositories') ?? false
      return sendStarted(dependencies, reply, started, { isBrief })
    },
  )
}

/** Sends a new migration with its location, then starts its export. With `isBrief`, its list of repositories is empty. */
export function sendStarted(
  dependencies: Pick<ApiDependencies, 'rendering' | 'queue'> & MigrationDependencies,
  reply: FastifyReply,
  started: Migration,
  { isBrief = false } = {},
): Promise<FastifyReply> {
  const { rendering, queue, migrationResponses } = dependencies
  const url = `${migrationsAddress(started.owner, rendering.addresses)}/${started.id}`
  reply.code(201).header('location', url)
  reply.raw.once('close', () => queue.wake('jobs'))
  return migrationResponses.sendNewMigration(reply, started, { owner: started.owner, isBrief })
}
