import { EXTENSION, string } from '@godwit/contract/schemas/schema'
import { parseFullName } from '@godwit/lib/names'
import type { FastifyInstance } from 'fastify'
import type { Scope } from '../../../accounts/account.ts'
import type { Db } from '../../../db/database.ts'
import { heldLocks, locksOnOwn } from '../../../migrations/lock-store.ts'
import { countMigrations } from '../../../migrations/migration-store.ts'
import {
  listSummaries,
  MAX_SEARCHED_MIGRATIONS,
  type Summary,
  summariesCovering,
} from '../../../migrations/summaries.ts'
import { findIdByName } from '../../../repositories/repository-store.ts'
import * as openapi from '../../description/operation.ts'
import { isLargeResponse, sendJsonWithEtag } from '../../middleware/json-response.ts'
import { parsePaging, sendPage } from '../../middleware/pagination.ts'
import { requireViewer, type WithQuery } from '../../middleware/request.ts'
import { lockJson, lockWithMigrationJson, summaryJson } from '../../rendering/migration-json.ts'
import { type AddScopedRoutes, scopeOf } from '../../scopes/scoped-path.ts'
import { addArchiveLink } from './archive.ts'
import { type ById, summaryInPath } from './migration-paths.ts'

const routes = openapi.routes('Migrations')({
  'migrations/list-summaries': {
    summary: "List summaries of the caller's migrations",
    description: `Newest first, without their repositories. ${EXTENSION}`,
    query: {
      repository: string.describe(
        `\`owner/name\`: only migrations of this repository, among the newest ${MAX_SEARCHED_MIGRATIONS}.`,
      ),
    },
    responses: openapi.pageResponses('summary', 'summaries', 'x-total-count'),
  },
  'migrations/get-summary': {
    summary: 'Get the summary of a migration',
    description: EXTENSION,
    responses: openapi.recordResponses('The summary.', 'summary'),
  },
  'migrations/list-locks': {
    summary: 'List the repositories that a migration locks',
    description: EXTENSION,
    responses: openapi.readResponses(
      'The locked repositories.',
      openapi.schemaList('lock'),
      'locks',
    ),
  },
  'migrations/list-own-locks': {
    summary: "List the locks on the caller's repositories",
    description: `Locks on repositories that the caller owns or administers, each with its migration and the owner of the migration. Newest first. ${EXTENSION}`,
    responses: openapi.readResponses(
      'The locked repositories.',
      openapi.schemaList('lock-with-migration'),
      'own-locks',
    ),
  },
})

/** Operations for pages that show many migrations. GitHub has none of them, so no preview is required. */
export const addMigrationSummaryRoutes: AddScopedRoutes = (app, dependencies, scopedPath) => {
  const { db, rendering, largeResponseLimit } = dependencies
  const { path, options } = scopedPath

  const listOptions = options(routes['migrations/list-summaries'])
  app.get<WithQuery>(`${path}/summaries`, listOptions, async (request, reply) => {
    const scope = scopeOf(request)
    const paging = parsePaging(request.query)
    const { repository } = request.query
    const covering =
      typeof repository === 'string' ? await summariesOf(db, scope, repository) : undefined
    const summaries = covering
      ? covering.slice(paging.offset, paging.offset + paging.limit)
      : await listSummaries(db, scope, paging)
    const total = covering?.length ?? (await countMigrations(db, scope))
    return sendPage(reply, rendering.addresses, { total, body: summaries.map(summaryJson) })
  })

  const summaryOptions = options(routes['migrations/get-summary'])
  app.get<ById>(`${path}/:migration_id/summary`, summaryOptions, async (request, reply) =>
    sendJsonWithEtag(reply, summaryJson(await summaryInPath(db, request))),
  )

  const lockOptions = options(routes['migrations/list-locks'])
  app.get<ById>(`${path}/:migration_id/locks`, lockOptions, async (request, reply) => {
    const { id, heldLocks: count } = await summaryInPath(db, request)
    if (isLargeResponse(count)) await largeResponseLimit.begin(request, reply)
    return sendJsonWithEtag(reply, (await heldLocks(db, id)).map(lockJson))
  })

  addArchiveLink(app, dependencies, scopedPath)
}

/** Returns the newest migrations that contain a repository, which may be missing now; none if it never existed. */
async function summariesOf(db: Db, scope: Scope, fullName: string): Promise<Summary[]> {
  const name = parseFullName(fullName)
  const id = name && (await findIdByName(db, name))
  return id === undefined ? [] : summariesCovering(db, scope, id)
}

/** Shows callers which migrations, also of other accounts, block pushes to their repositories. */
export function addOwnLocksRoute(app: FastifyInstance, { db }: { db: Db }): void {
  app.get('/user/locks', routes['migrations/list-own-locks'], async (request, reply) => {
    const body = (await locksOnOwn(db, requireViewer(request))).map(lockWithMigrationJson)
    return sendJsonWithEtag(reply, body)
  })
}
