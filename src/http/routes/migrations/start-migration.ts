import type { FastifyReply } from 'fastify'
import { audited } from '../../../accounts/audit-log.ts'
import { nextTurn } from '../../../lib/turns.ts'
import { aboutMigration, type StartedMigration } from '../../../migrations/migration.ts'
import { startMigration } from '../../../migrations/start-migration.ts'
import { type StartRequest, startRequestSchema } from '../../../wire/migration.ts'
import * as openapi from '../../description/operation.ts'
import { type JsonItems, sendLazyBody } from '../../middleware/json-response.ts'
import { actorOf, requireViewer } from '../../middleware/request.ts'
import { migrationsAddress, startRequestOf } from '../../rendering/migration-json.ts'
import { RENDER_BATCH_SIZE } from '../../rendering/rendered-repositories.ts'
import { type AddScopedRoutes, scopeOf } from '../../scopes/scoped-path.ts'
import type { ApiParts } from '../../server-parts.ts'

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

export const addStart: AddScopedRoutes = (app, parts, { path, options }) => {
  app.post<{ Body: StartRequest }>(
    path,
    options(routes['migrations/start-for-authenticated-user']),
    async (request, reply) => {
      const signal = await parts.startLimit.begin(request, reply)
      const start = startRequestOf(request.body)
      const started = await audited(parts, actorOf(request), (record) =>
        startMigration({ ...parts, signal }, scopeOf(request), start, (tx, migration) =>
          record(tx, 'migration.start', aboutMigration(migration)),
        ),
      )
      const isBrief = request.body.exclude?.includes('repositories') ?? false
      return sendStarted(parts, reply, started, { isBrief })
    },
  )
}

/** Sends a new migration with its location, then starts its export. With `isBrief`, its list of repositories is empty. */
export function sendStarted(
  parts: ApiParts,
  reply: FastifyReply,
  started: StartedMigration,
  { isBrief = false } = {},
): Promise<FastifyReply> {
  const { rendering, repositoryRenderer, largeResponseLimit, cloneTokens } = parts
  const url = `${migrationsAddress(started.owner, rendering.addresses)}/${started.id}`
  reply.code(201).header('location', url)
  reply.raw.once('close', () => parts.queue.wake('jobs'))
  const { repositories, references } = started
  const tokenOf = cloneTokens.for(requireViewer(reply.request))
  const options = { form: 'extended', tokenOf } as const
  const listed: JsonItems = async function* ({ isStreamed }) {
    // Clients poll the migration that they have started.
    const read = isStreamed ? repositoryRenderer.readUncached : repositoryRenderer.readCached
    for (let at = 0; at < references.length; at += RENDER_BATCH_SIZE) {
      await nextTurn()
      const batch = references.slice(at, at + RENDER_BATCH_SIZE)
      yield await read(options, batch, repositories.slice(at, at + RENDER_BATCH_SIZE))
    }
  }
  return sendLazyBody(reply, {
    largeResponseLimit,
    repositoryCount: isBrief ? 0 : references.length,
    body: () => parts.migrationText(started, started.owner, isBrief ? undefined : listed),
  })
}
