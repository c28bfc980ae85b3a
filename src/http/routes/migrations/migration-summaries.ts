import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Scope } from '../../../accounts/scope.ts'
import type { Db } from '../../../db/database.ts'
import { isFullName } from '../../../lib/names.ts'
import { heldLocks } from '../../../migrations/lock-store.ts'
import { countMigrations } from '../../../migrations/migration-store.ts'
import {
  findSummary,
  listSummaries,
  type Summary,
  summariesCovering,
} from '../../../migrations/summaries.ts'
import { findByName } from '../../../repositories/repository-store.ts'
import { answerPage } from '../../answer-page.ts'
import { answer, answerIfChanged, isLarge } from '../../middleware/json-answer.ts'
import { found } from '../../middleware/named-in-path.ts'
import { pagingOf } from '../../middleware/paging.ts'
import type { ApiParts } from '../../server-parts.ts'
import { archiveAddress } from './archive-address.ts'
import type { MigrationsPath } from './migration-paths.ts'
import * as operations from './migration-summaries-operations.ts'
import { type ById, migrationIdOf, scopeOf } from './named-migration.ts'
import { archiveLinkJson, lockJson, summaryJson } from './summary-json.ts'

/** What a page that shows migrations needs, and no more: ours alone, so no preview is asked for. */
export function migrationSummaries(
  app: FastifyInstance,
  parts: ApiParts,
  { path, describe }: MigrationsPath,
): void {
  const { db, rendering } = parts
  const { addresses } = rendering

  app.get<{ Querystring: Record<string, unknown> }>(
    `${path}/summaries`,
    { schema: describe(operations.listSummaries) },
    async (request, reply) => {
      const scope = scopeOf(request)
      const paging = pagingOf(request.query)
      const { repository } = request.query
      const covering =
        typeof repository === 'string' ? await summariesOf(db, scope, repository) : undefined
      const summaries = covering
        ? covering.slice(paging.offset, paging.offset + paging.limit)
        : await listSummaries(db, scope, paging)
      const total = covering?.length ?? (await countMigrations(db, scope))
      return answerPage(request, reply, addresses, { total, body: summaries.map(summaryJson) })
    },
  )

  app.get<ById>(
    `${path}/:migration_id/summary`,
    { schema: describe(operations.getSummary) },
    async (request, reply) => {
      const body = summaryJson(await namedSummary(db, request))
      return answerIfChanged(request, reply, body)
    },
  )

  app.get<ById>(
    `${path}/:migration_id/locks`,
    { schema: describe(operations.listLocks) },
    async (request, reply) => {
      const { id, heldLocks: count } = await namedSummary(db, request)
      if (isLarge(count)) await parts.largeAnswers.begin(request, reply)
      const body = (await heldLocks(db, id)).map(lockJson)
      return answerIfChanged(request, reply, body)
    },
  )

  app.get<ById>(
    `${path}/:migration_id/archive/link`,
    { schema: describe(operations.getArchiveLink) },
    async (request, reply) => {
      const summary = await namedSummary(db, request)
      const link = await archiveAddress(parts, summary)
      return answer(reply.header('cache-control', 'no-store'), archiveLinkJson(summary, link))
    },
  )
}

/** Of a repository that is not there, there are none. */
async function summariesOf(db: Db, scope: Scope, fullName: string): Promise<Summary[]> {
  if (!isFullName(fullName)) return []
  const [owner = '', name = ''] = fullName.split('/')
  const [entry] = await findByName(db, [{ owner, name }])
  return entry ? summariesCovering(db, scope, entry.id) : []
}

async function namedSummary(db: Db, request: FastifyRequest<ById>): Promise<Summary> {
  return found(await findSummary(db, scopeOf(request), migrationIdOf(request)))
}
