import type { FastifyInstance } from 'fastify'
import { deleteArchive } from '../../../migrations/delete-archive.ts'
import { unlockRepository } from '../../../migrations/locks.ts'
import { startMigration } from '../../../migrations/start-migration.ts'
import type * as wire from '../../../wire/types.ts'
import { audit } from '../../middleware/audit.ts'
import { viewerOf } from '../../middleware/authenticate.ts'
import type { ApiParts } from '../../server-parts.ts'
import { archiveAddress } from './archive-address.ts'
import * as operations from './github-migrations-operations.ts'
import type { MigrationsPath } from './migration-paths.ts'
import { type ById, namedMigration, scopeOf } from './named-migration.ts'
import { readMigrations } from './read-migrations.ts'
import { startRequestOf } from './start-request.ts'
import { answerStarted } from './started-answer.ts'

/** The operations that GitHub has too. A handler reads, calls, answers. */
export function githubMigrations(
  app: FastifyInstance,
  parts: ApiParts,
  place: MigrationsPath,
): void {
  const { path, config, describe } = place
  const { db, log } = parts
  readMigrations(app, parts, place)

  app.post<{ Body: wire.StartRequest }>(
    path,
    { schema: describe(operations.startMigration) },
    async (request, reply) => {
      const asked = startRequestOf(request.body)
      const signal = await parts.starts.begin(request, reply)
      const started = await startMigration(
        { ...parts, signal },
        scopeOf(request),
        asked,
        (migration) => audit(log, request, 'migration.start', migration),
      )
      const isBrief = request.body.exclude?.includes('repositories') ?? false
      const tokenOf = parts.cloneTokens.for(viewerOf(request))
      return answerStarted(reply, started, { ...parts, tokenOf, isBrief })
    },
  )

  app.get<ById>(
    `${path}/:migration_id/archive`,
    { config, schema: describe(operations.getArchive) },
    async (request, reply) => {
      const migration = await namedMigration(db, request)
      const { url } = await archiveAddress(parts, migration)
      // Some clients read the link from the body.
      return reply.code(302).header('location', url).type('text/plain; charset=utf-8').send(url)
    },
  )

  app.delete<ById>(
    `${path}/:migration_id/archive`,
    { config, schema: describe(operations.deleteArchive) },
    async (request, reply) => {
      const migration = await namedMigration(db, request)
      await deleteArchive(parts, scopeOf(request), migration.id, () =>
        audit(log, request, 'migration.delete_archive', migration),
      )
      return reply.code(204).send()
    },
  )

  app.delete<ById & { Params: { repo_name: string } }>(
    `${path}/:migration_id/repos/:repo_name/lock`,
    { config, schema: describe(operations.unlockRepository) },
    async (request, reply) => {
      const migration = await namedMigration(db, request)
      const { repo_name } = request.params
      await unlockRepository(parts, scopeOf(request), migration.id, repo_name, () =>
        audit(log, request, 'migration.unlock_repository', migration),
      )
      return reply.code(204).send()
    },
  )
}
