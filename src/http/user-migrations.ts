import type { FastifyInstance } from 'fastify'
import { deleteArchive } from '../migrations/delete-archive.ts'
import { unlockRepository } from '../migrations/locks.ts'
import { countMigrations, listMigrations, repositoriesOf } from '../migrations/migration-store.ts'
import { NotFound } from '../migrations/refusals.ts'
import { startMigration } from '../migrations/start-migration.ts'
import { archiveAddress } from './archive-address.ts'
import { audit } from './audit.ts'
import { viewerOf } from './authenticate.ts'
import * as operations from './description/openapi-migrations.ts'
import { migrationJson, plainRepositoryJson } from './github-json.ts'
import { answer, isKnown, notModified } from './json-answer.ts'
import { type ById, namedMigration } from './named-migration.ts'
import { tellPages } from './page-headers.ts'
import { pagingOf } from './paging.ts'
import type { ServerParts } from './server.ts'
import { type StartBody, startRequestOf } from './start-request.ts'

type Query = Record<string, unknown>
const PREVIEWED = { previewed: true }

/** The operations on the caller's own migrations. A handler reads, calls, answers. */
export function userMigrations(app: FastifyInstance, parts: ServerParts): void {
  const { db, log, rendering } = parts
  const { addresses, edition } = rendering
  const { prefix } = app

  app.post<{ Body: StartBody }>(
    '/user/migrations',
    { schema: operations.startMigration },
    async (request, reply) => {
      const started = await startMigration(parts, viewerOf(request), startRequestOf(request.body))
      audit(log, request, 'migration.start', started)
      const shown = request.body.exclude?.includes('repositories') ? [] : started.repositories
      const body = migrationJson(started, shown, rendering)
      return answer(reply.code(201).header('location', body.url), body)
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
      if (isKnown(request, reply, [edition, 'migrations', total, ...versions]))
        return notModified(reply)
      const bodies = migrations.map(async (migration) =>
        migrationJson(migration, await repositoriesOf(db, migration), rendering),
      )
      return answer(reply, await Promise.all(bodies))
    },
  )

  app.get<ById>(
    '/user/migrations/:migration_id',
    { config: PREVIEWED, schema: operations.getMigration },
    async (request, reply) => {
      const migration = await namedMigration(db, request)
      const isBrief = excludesRepositories(request.query)
      if (
        isKnown(request, reply, [edition, 'migration', migration.id, migration.version, isBrief])
      ) {
        return notModified(reply)
      }
      const repositories = isBrief ? [] : await repositoriesOf(db, migration)
      return answer(reply, migrationJson(migration, repositories, rendering))
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
      // The snapshot never changes, so neither does any page of it.
      const page = [edition, 'repositories', migration.id, paging.page, paging.perPage]
      if (isKnown(request, reply, page)) return notModified(reply)
      const repositories = await repositoriesOf(db, migration, paging)
      return answer(
        reply,
        repositories.map((facts) => plainRepositoryJson(facts, addresses)),
      )
    })
  }

  app.get<ById>(
    '/user/migrations/:migration_id/archive',
    { config: PREVIEWED, schema: operations.getArchive },
    async (request, reply) => {
      const migration = await namedMigration(db, request)
      if (migration.archiveExpiresAt === null) throw new NotFound()
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
      await deleteArchive(parts, viewerOf(request), migration.id)
      audit(log, request, 'migration.delete_archive', migration)
      return reply.code(204).send()
    },
  )

  app.delete<ById & { Params: { repo_name: string } }>(
    '/user/migrations/:migration_id/repos/:repo_name/lock',
    { config: PREVIEWED, schema: operations.unlockRepository },
    async (request, reply) => {
      const migration = await namedMigration(db, request)
      await unlockRepository(parts, viewerOf(request), migration.id, request.params.repo_name)
      audit(log, request, 'migration.unlock_repository', migration)
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
