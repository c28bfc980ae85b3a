import type { FastifyInstance } from 'fastify'
import { deleteArchive } from '../../migrations/delete-archive.ts'
import { unlockRepository } from '../../migrations/locks.ts'
import { countMigrations, listMigrations } from '../../migrations/migration-store.ts'
import { repositoryBatches } from '../../migrations/snapshot-store.ts'
import { startMigration } from '../../migrations/start-migration.ts'
import { audit } from '../door/audit.ts'
import { viewerOf } from '../door/authenticate.ts'
import type { KeepingAnswer } from '../door/json-answer.ts'
import { tellPages } from '../door/page-headers.ts'
import { pagingOf } from '../door/paging.ts'
import type { ServerParts } from '../server-parts.ts'
import { archiveAddress } from './archive-address.ts'
import { migrationsText, migrationText, repositoriesText } from './migration-text.ts'
import { type ById, namedMigration } from './named-migration.ts'
import { type StartBody, startRequestOf } from './start-request.ts'
import { answerStarted } from './started-answer.ts'
import * as operations from './user-migrations-operations.ts'

type Query = Record<string, unknown>
const PREVIEWED = { previewed: true }

interface OperationParts extends ServerParts {
  keepingAnswer: KeepingAnswer
}

/** The operations on the caller's own migrations. A handler reads, calls, answers. */
export function userMigrations(app: FastifyInstance, parts: OperationParts): void {
  const { db, log, rendering, keepingAnswer } = parts
  const { addresses, edition } = rendering
  const { prefix } = app

  app.post<{ Body: StartBody }>(
    '/user/migrations',
    { schema: operations.startMigration },
    async (request, reply) => {
      const asked = startRequestOf(request.body)
      const started = await startMigration(parts, viewerOf(request), asked, (migration) =>
        audit(log, request, 'migration.start', migration),
      )
      const shown = request.body.exclude?.includes('repositories') ? [] : started.repositories
      return answerStarted(reply, started, shown, rendering)
    },
  )

  app.get<{ Querystring: Query }>(
    '/user/migrations',
    { config: PREVIEWED, schema: operations.listMigrations },
    async (request, reply) => {
      const viewer = viewerOf(request)
      const paging = pagingOf(request.query)
      const migrations = await listMigrations(db, viewer, paging)
      const total = await countMigrations(db, viewer)
      tellPages(request, reply, { prefix, addresses, paging, total })
      const versions = migrations.flatMap(({ id, version }) => [id, version])
      return keepingAnswer(request, reply, {
        madeFrom: [edition, 'migrations', total, ...versions],
        repositoryCount: migrations.reduce((sum, each) => sum + each.repositoryCount, 0),
        text: () => migrationsText(migrations, (each) => repositoryBatches(db, each), rendering),
      })
    },
  )

  app.get<ById>(
    '/user/migrations/:migration_id',
    { config: PREVIEWED, schema: operations.getMigration },
    async (request, reply) => {
      const migration = await namedMigration(db, request)
      const isBrief = excludesRepositories(request.query)
      const { id, version, repositoryCount } = migration
      return keepingAnswer(request, reply, {
        madeFrom: [edition, 'migration', id, version, isBrief],
        repositoryCount: isBrief ? 0 : repositoryCount,
        text: () =>
          migrationText(migration, isBrief ? [] : repositoryBatches(db, migration), rendering),
      })
    },
  )

  // The second path is what clients of some years ago call.
  for (const [path, schema] of [
    ['/user/migrations/:migration_id/repositories', operations.listRepositories],
    ['/user/:migration_id/repositories', operations.listRepositoriesByFormerPath],
  ] as const) {
    app.get<ById>(path, { config: PREVIEWED, schema }, async (request, reply) => {
      const migration = await namedMigration(db, request)
      const paging = pagingOf(request.query)
      tellPages(request, reply, { prefix, addresses, paging, total: migration.repositoryCount })
      return keepingAnswer(request, reply, {
        // The snapshot never changes, so neither does any page of it.
        madeFrom: [edition, 'repositories', migration.id, paging.page, paging.perPage],
        repositoryCount: paging.perPage,
        text: () => repositoriesText(repositoryBatches(db, migration, paging), addresses),
      })
    })
  }

  app.get<ById>(
    '/user/migrations/:migration_id/archive',
    { config: PREVIEWED, schema: operations.getArchive },
    async (request, reply) => {
      const migration = await namedMigration(db, request)
      const { url } = await archiveAddress(parts, migration)
      // Some clients read the link from the body.
      return reply.code(302).header('location', url).type('text/plain; charset=utf-8').send(url)
    },
  )

  app.delete<ById>(
    '/user/migrations/:migration_id/archive',
    { config: PREVIEWED, schema: operations.deleteArchive },
    async (request, reply) => {
      const migration = await namedMigration(db, request)
      await deleteArchive(parts, viewerOf(request), migration.id, () =>
        audit(log, request, 'migration.delete_archive', migration),
      )
      return reply.code(204).send()
    },
  )

  app.delete<ById & { Params: { repo_name: string } }>(
    '/user/migrations/:migration_id/repos/:repo_name/lock',
    { config: PREVIEWED, schema: operations.unlockRepository },
    async (request, reply) => {
      const migration = await namedMigration(db, request)
      const { repo_name } = request.params
      await unlockRepository(parts, viewerOf(request), migration.id, repo_name, () =>
        audit(log, request, 'migration.unlock_repository', migration),
      )
      return reply.code(204).send()
    },
  )
}

/** Comma-joined, repeated, or with brackets: all three are in use. Values that are not known are ignored. */
function excludesRepositories(query: Query): boolean {
  return [query.exclude, query['exclude[]']]
    .flat()
    .some((value) => typeof value === 'string' && value.split(',').includes('repositories'))
}
