import type { FastifyRequest } from 'fastify'
import { audited } from '../../../accounts/audit-log.ts'
import type { Db } from '../../../db/database.ts'
import { batchesOf } from '../../../lib/batches.ts'
import { nextTurn } from '../../../lib/turns.ts'
import { unlockRepository } from '../../../migrations/locks.ts'
import { aboutMigration, type Migration } from '../../../migrations/migration.ts'
import * as migrationStore from '../../../migrations/migration-store.ts'
import * as listStore from '../../../migrations/repository-list-store.ts'
import * as openapi from '../../description/operation.ts'
import { type JsonItems, sendLazyBodyWithEtag } from '../../middleware/json-response.ts'
import { parsePaging, setLinkHeader } from '../../middleware/pagination.ts'
import { actorOf, requireFound, requireViewer, type WithQuery } from '../../middleware/request.ts'
import {
  RENDER_BATCH_SIZE,
  type ReadRendered,
  type RenderOptions,
} from '../../rendering/rendered-repositories.ts'
import type { AddScopedRoutes } from '../../scopes/scoped-path.ts'
import { scopeOf } from '../../scopes/scoped-path.ts'
import type { ApiParts } from '../../server-parts.ts'
import { addArchive } from './archive.ts'
import { type ById, CALLER_PATH, migrationIdOf, migrationInPath } from './migration-paths.ts'
import { addStart } from './start-migration.ts'

/** The operations that GitHub has too. */
export const addGithubMigrationRoutes: AddScopedRoutes = (app, parts, scopedPath) => {
  addList(app, parts, scopedPath)
  addStatus(app, parts, scopedPath)
  addRepositories(app, parts, scopedPath)
  addStart(app, parts, scopedPath)
  addArchive(app, parts, scopedPath)
  addUnlock(app, parts, scopedPath)
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

const addList: AddScopedRoutes = (app, parts, { path, previewOptions, hasBriefList }) => {
  const { db, rendering, migrationText } = parts
  const { addresses, edition } = rendering
  const listOptions = previewOptions(routes['migrations/list-for-authenticated-user'])
  app.get<WithQuery>(path, listOptions, async (request, reply) => {
    const scope = scopeOf(request)
    const paging = parsePaging(request.query)
    const migrations = await migrationStore.listMigrations(db, scope, paging)
    const total = await migrationStore.countMigrations(db, scope)
    const isBrief = hasBriefList && excludesRepositories(request.query)
    setLinkHeader(reply, addresses, total)
    const list = { form: 'extended', tokenOf: cloneTokensOf(parts, request) } as const
    const repositoriesOf = (migration: Migration) =>
      isBrief ? undefined : listedRepositories(parts, migration, list)
    const versions = migrations.flatMap(({ guid, version }) => [guid, version])
    const repositoryCount = migrations.reduce((sum, each) => sum + each.repositoryCount, 0)
    return sendLazyBodyWithEtag(reply, {
      etagParts: [
        ...[edition, isBrief ? 'brief migrations' : 'migrations', total],
        ...[scope.owner.type, scope.owner.login, ...versions],
      ],
      largeResponseLimit: parts.largeResponseLimit,
      repositoryCount: isBrief ? 0 : repositoryCount,
      body: () => [
        '[',
        ...migrations.flatMap((migration, index) => [
          index === 0 ? '' : ',',
          ...migrationText(migration, scope.owner, repositoriesOf(migration)),
        ]),
        ']',
      ],
    })
  })
}

const addStatus: AddScopedRoutes = (app, parts, { path, previewOptions }) => {
  const { db, rendering, migrationText } = parts
  const url = `${path}/:migration_id`
  const statusOptions = previewOptions(routes['migrations/get-status-for-authenticated-user'])
  app.get<ById>(url, statusOptions, async (request, reply) => {
    const isBrief = excludesRepositories(request.query)
    const known = isBrief ? undefined : await readMigration(db, request, { offset: 0 })
    const migration = known?.migration ?? (await migrationInPath(db, request))
    const { guid, version, repositoryCount } = migration
    const { owner } = scopeOf(request)
    return sendLazyBodyWithEtag(reply, {
      // The guid instead of the id, because ids are unique only within one database.
      etagParts: [rendering.edition, 'migration', guid, version, isBrief, owner.type, owner.login],
      largeResponseLimit: parts.largeResponseLimit,
      repositoryCount: isBrief ? 0 : repositoryCount,
      body: () => {
        const tokenOf = cloneTokensOf(parts, request)
        const list = { form: 'extended', tokenOf, known } as const
        return migrationText(migration, owner, known && listedRepositories(parts, migration, list))
      },
    })
  })
}

/** Returns the migration that the path names, and the part of its repository list that contains the repository at `offset`. */
async function readMigration(db: Db, request: FastifyRequest<ById>, from: { offset: number }) {
  const id = migrationIdOf(request)
  return requireFound(await migrationStore.findMigrationToRead(db, scopeOf(request), id, from))
}

const addRepositories: AddScopedRoutes = (app, parts, scopedPath) => {
  const { db, rendering } = parts
  const { addresses, edition } = rendering
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
      const known = await readMigration(db, request, paging)
      const { migration } = known
      setLinkHeader(reply, addresses, migration.repositoryCount)
      const tokenOf = cloneTokensOf(parts, request)
      const list = { form: 'plain', tokenOf, page: paging, known } as const
      return sendLazyBodyWithEtag(reply, {
        // Without the version, because the repository list of a migration never changes.
        etagParts: [edition, 'repositories', migration.guid, paging.page, paging.perPage],
        largeResponseLimit: parts.largeResponseLimit,
        repositoryCount: paging.perPage,
        body: () => ['[', listedRepositories(parts, migration, list), ']'],
      })
    })
  }
}

const addUnlock: AddScopedRoutes = (app, parts, { path, previewOptions }) => {
  app.delete<ById & { Params: { repo_name: string } }>(
    `${path}/:migration_id/repos/:repo_name/lock`,
    previewOptions(routes['migrations/unlock-repo-for-authenticated-user']),
    async (request, reply) => {
      const migration = await migrationInPath(parts.db, request)
      const { repo_name: name } = request.params
      const about = aboutMigration(migration)
      const details = { ...about.details, repository: name }
      await audited(parts, actorOf(request), (record) =>
        unlockRepository(parts, scopeOf(request), migration.id, name, (tx) =>
          record(tx, 'migration.unlock_repository', { ...about, details }),
        ),
      )
      return reply.code(204).send()
    },
  )
}

const cloneTokensOf = ({ cloneTokens }: ApiParts, request: FastifyRequest) =>
  cloneTokens.for(requireViewer(request))

interface RepositoryList extends RenderOptions {
  /** All repositories by default. */
  page?: listStore.Page
  /** A part of the repository list that was read with the migration. */
  known?: listStore.ListPart | undefined
}

function listedRepositories(
  { db, repositoryRenderer }: ApiParts,
  migration: Migration,
  { form, tokenOf, page = { offset: 0, limit: migration.repositoryCount }, known }: RepositoryList,
): JsonItems {
  async function* inBatches(read: ReadRendered) {
    for await (const references of listStore.pageOfReferences(db, migration, page, known)) {
      for (const batch of batchesOf(references, RENDER_BATCH_SIZE)) {
        await nextTurn()
        yield await read({ form, tokenOf }, batch)
      }
    }
  }
  return ({ isStreamed }) => {
    // A large response is not cached: it would evict what other clients poll.
    const read = isStreamed ? repositoryRenderer.readUncached : repositoryRenderer.read
    const all = known && listStore.knownReferences(migration, page, known)
    return all && all.length <= RENDER_BATCH_SIZE ? read({ form, tokenOf }, all) : inBatches(read)
  }
}

/** Clients separate the values of `exclude` by commas, repeat the parameter, or name it `exclude[]`. */
function excludesRepositories(query: WithQuery['Querystring']): boolean {
  return hasRepositories(query.exclude) || hasRepositories(query['exclude[]'])
}

function hasRepositories(exclude: unknown): boolean {
  if (typeof exclude === 'string') return exclude.split(',').includes('repositories')
  return Array.isArray(exclude) && exclude.some(hasRepositories)
}
