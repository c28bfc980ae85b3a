import type { FastifyInstance, FastifyRequest } from 'fastify'
import { listTokens, revokeToken } from '../../accounts/token-store.ts'
import { deleteArchive } from '../../migrations/archive-store.ts'
import { cancelMigration } from '../../migrations/cancel-migration.ts'
import { NotFound } from '../../migrations/errors.ts'
import { migrationToExport } from '../../migrations/export-store.ts'
import { releaseAnyLock } from '../../migrations/locks.ts'
import { retryMigration } from '../../migrations/retry-migration.ts'
import { summaryById } from '../../migrations/summaries.ts'
import type * as wire from '../../wire/types.ts'
import { audit, auditAction } from '../middleware/audit.ts'
import { viewerOf } from '../middleware/authenticate.ts'
import { answer } from '../middleware/json-answer.ts'
import { idIn } from '../middleware/named-in-path.ts'
import { type ById, migrationIdOf } from '../migrations/named-migration.ts'
import { summaryJson } from '../migrations/summary-json.ts'
import type { ApiParts } from '../server-parts.ts'
import * as operations from './admin-actions-operations.ts'
import { tokenJson } from './service-state-json.ts'

/** What an operator may do about anyone's migrations, locks and tokens. To everyone else there is nothing here. */
export function adminActions(app: FastifyInstance, parts: ApiParts): void {
  app.register(async (there) => {
    there.addHook('onRequest', async (request) => {
      if (!viewerOf(request).account.siteAdmin) throw new NotFound()
    })
    migrationActions(there, parts)
    lockActions(there, parts)
    tokenActions(there, parts)
  })
}

function migrationActions(app: FastifyInstance, parts: ApiParts): void {
  const { db, log } = parts
  const named = (request: FastifyRequest<ById>) => migrationToExport(db, migrationIdOf(request))

  app.post<ById>(
    '/admin/migrations/:migration_id/cancel',
    { schema: operations.cancelMigration },
    async (request, reply) => {
      const migration = await named(request)
      await cancelMigration(parts, migration, () =>
        audit(log, request, 'admin.migration.cancel', migration),
      )
      return answer(reply, summaryJson((await summaryById(db, migration.id))!))
    },
  )

  app.post<ById & { Body: wire.RetryRequest }>(
    '/admin/migrations/:migration_id/retry',
    { schema: operations.retryMigration },
    async (request, reply) => {
      const migration = await named(request)
      const asked = { allowPartial: request.body.allow_partial ?? false }
      const scope = { owner: migration.owner, by: viewerOf(request).account }
      const signal = await parts.starts.begin(request, reply)
      const { id } = await retryMigration(
        { ...parts, signal },
        scope,
        migration,
        asked,
        (started) => audit(log, request, 'admin.migration.retry', started),
      )
      return answer(reply.code(201), summaryJson((await summaryById(db, id))!))
    },
  )

  app.delete<ById>(
    '/admin/migrations/:migration_id/archive',
    { schema: operations.deleteArchive },
    async (request, reply) => {
      const migration = await named(request)
      await deleteArchive(parts, migration, migration.id, () =>
        audit(log, request, 'admin.migration.delete_archive', migration),
      )
      return reply.code(204).send()
    },
  )
}

function lockActions(app: FastifyInstance, parts: ApiParts): void {
  app.delete<{ Params: { owner: string; name: string } }>(
    '/admin/locks/:owner/:name',
    { schema: operations.releaseLock },
    async (request, reply) => {
      const { owner, name } = request.params
      await releaseAnyLock(parts, { owner, name }, () =>
        auditAction(parts.log, request, 'admin.lock.release', { repository: `${owner}/${name}` }),
      )
      return reply.code(204).send()
    },
  )
}

function tokenActions(app: FastifyInstance, { db, log, now }: ApiParts): void {
  app.get('/admin/tokens', { schema: operations.listTokens }, async (_request, reply) =>
    answer(reply, (await listTokens(db)).map(tokenJson)),
  )

  app.delete<{ Params: { token_id: string } }>(
    '/admin/tokens/:token_id',
    { schema: operations.revokeToken },
    async (request, reply) => {
      const id = idIn(request.params.token_id)
      if (!(await revokeToken(db, id, now()))) throw new NotFound()
      auditAction(log, request, 'admin.token.revoke', { revoked: id })
      return reply.code(204).send()
    },
  )
}
