import { audited } from '../../../accounts/audit-log.ts'
import { unlockRepository } from '../../../migrations/locks.ts'
import { aboutMigration } from '../../../migrations/migration.ts'
import * as migrationStore from '../../../migrations/migration-store.ts'
import * as openapi from '../../description/operation.ts'
import { parsePaging, setLinkHeader } from '../../middleware/pagination.ts'
import { actorOf, type WithQuery } from '../../middleware/request.ts'
import { type AddScopedRoutes, scopeOf } from '../../scopes/scoped-path.ts'
import { addArchive } from './archive.ts'
import {
  type ById,
  CALLER_PATH,
  migrationInPath,
  migrationWithListInPath,
} from './migration-paths.ts'
import type { MigrationDependencies } from './migration-responses.ts'
import { addStart } from './start-migration.ts'

/** The operations that GitHub has too. */
export const addGithubMigrationRoutes: AddScopedRoutes<MigrationDependencies> = (
  app,
  dependencies,
  scopedPath,
) => {
  addList(app, dependencies, scopedPath)
  addStatus(app, dependencies, scopedPath)
  addRepositories(app, dependencies, scopedPath)
  addStart(app, dependencies, scopedPath)
  addArchive(app, dependencies, scopedPath)
  addUnlock(app, dependencies, scopedPath)
}

const routes = openapi.routes('Migrations')({
  'migrations/list-for-authenticated-user': {
    summary: "List the caller's migrations",
    description: 'Newest first.',
    responses: openapi.pageResponses('migration', 'migrations'),
  },
  'migrations/get-status-for-authenticated-user': {
    summary: 'Get a migration and its state',
    parameters: [openapi.parameter('exclude')],
    responses: openapi.recordResponses('The migration.', 'migration'),
  },
  'migrations/list-repos-for-authenticated-user': {
    summary: 'List the repositories of a migration',
    description:
      'The repositories at the time when the migration started, in the requested order. The pages never change.',
    responses: openapi.pageResponses('repository', 'repositories'),
  },
  'migrations/list-repos-by-former-path': {
    summary: 'List the repositories of a migration (old path)',
    description: 'Used by old clients. The response is the same.',
    responses: openapi.pageResponses('repository', 'repositories'),
    deprecated: true,
  },
  'migrations/unlock-repo-for-authenticated-user': {
    summary: 'Unlock a repository',
    description:
      'Removes the lock of `lock_repositories`. The repository accepts pushes again when no migration locks it any more.',
    responses: { 204: openapi.DONE },
  },
})

const addList: AddScopedRoutes<MigrationDependencies> = (
  app,
  dependencies,
  { path, previewOptions, hasBriefList },
) => {
  const { db, rendering, migrationResponses } = dependencies
  const listOptions = previewOptions(routes['migrations/list-for-authenticated-user'])
  app.get<WithQuery>(path, listOptions, async (request, reply) => {
    const scope = scopeOf(request)
    const migrations = await migrationStore.listMigrations(db, scope, parsePaging(request.query))
    const total = await migrationStore.countMigrations(db, scope)
    setLinkHeader(reply, rendering.addresses, total)
    const isBrief = hasBriefList && excludesRepositories(request.query)
    return migrationResponses.sendMigrations(reply, migrations, {
      owner: scope.owner,
      isBrief,
      total,
    })
  })
}

const addStatus: AddScopedRoutes<MigrationDependencies> = (
  app,
  dependencies,
  { path, previewOptions },
) => {
  const url = `${path}/:migration_id`
  const statusOptions = previewOptions(routes['migrations/get-status-for-authenticated-user'])
  app.get<ById>(url, statusOptions, async (request, reply) => {
    const migration = await migrationWithListInPath(dependencies.db, request)
    const { owner } = scopeOf(request)
    const isBrief = excludesRepositories(request.query)
    return dependencies.migrationResponses.sendMigration(reply, migration, { owner, isBrief })
  })
}

const addRepositories: AddScopedRoutes<MigrationDependencies> = (app, dependencies, scopedPath) => {
  const { db, rendering, migrationResponses } = dependencies
  const { path, previewOptions } = scopedPath
  const options: Record<string, openapi.RouteOptions> = {
    [`${path}/:migration_id/repositories`]: routes['migrations/list-repos-for-authenticated-user'],
    ...(scopedPath === CALLER_PATH && {
      '/user/:migration_id/repositories': routes['migrations/list-repos-by-former-path'],
    }),
  }
  for (const [url, route] of Object.entries(options)) {
    app.get<ById>(url, previewOptions(route), async (request, reply) => {
      const paging = parsePaging(request.query)
      const migration = await migrationWithListInPath(db, request, paging)
      setLinkHeader(reply, rendering.addresses, migration.repositoryCount)
      return migrationResponses.sendRepositories(reply, migration, paging)
    })
  }
}

const addUnlock: AddScopedRoutes = (app, dependencies, { path, previewOptions }) => {
  app.delete<ById & { Params: { repo_name: string } }>(
    `${path}/:migration_id/repos/:repo_name/lock`,
    previewOptions(routes['migrations/unlock-repo-for-authenticated-user']),
    async (request, reply) => {
      const migration = await migrationInPath(dependencies.db, request)
      const { repo_name: name } = request.params
      const about = aboutMigration(migration)
      const details = { ...about.details, repository: name }
      await audited(dependencies, actorOf(request), (record) =>
        unlockRepository(dependencies, scopeOf(request), migration.id, name, (tx) =>
          record(tx, 'migration.unlock_repository', { ...about, details }),
        ),
      )
      return reply.code(204).send()
    },
  )
}

/** Clients separate the values of `exclude` by commas, repeat the parameter, or name it `exclude[]`. */
function excludesRepositories(query: WithQuery['Querystring']): boolean {
  return hasRepositories(query.exclude) || hasRepositories(query['exclude[]'])
}

function hasRepositories(exclude: unknown): boolean {
  if (typeof exclude === 'string') return exclude.split(',').includes('repositories')
  return Array.isArray(exclude) && exclude.some(hasRepositories)
}
