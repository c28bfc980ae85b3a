import type { FastifyInstance, FastifyRequest } from 'fastify'
import { nameKey } from '../../../accounts/account.ts'
import { findAccount } from '../../../accounts/account-store.ts'
import { audited, inAuditedTransaction, recordAccess } from '../../../accounts/audit-log.ts'
import { listTokens, revokeToken } from '../../../accounts/token-store.ts'
import { isFullName, parseFullName } from '../../../lib/names.ts'
import { deleteArchive } from '../../../migrations/archive-store.ts'
import { cancelMigration } from '../../../migrations/cancel-migration.ts'
import { InvalidRequest, NotFound, refuseRepositories } from '../../../migrations/errors.ts'
import { migrationById } from '../../../migrations/export-store.ts'
import { releaseAnyLock } from '../../../migrations/locks.ts'
import { aboutMigration } from '../../../migrations/migration.ts'
import { retryMigration } from '../../../migrations/retry-migration.ts'
import { summaryById } from '../../../migrations/summaries.ts'
import { syncRepositories } from '../../../repositories/sync.ts'
import { retryRequestSchema } from '../../../wire/progress.ts'
import { EXTENSION, integer, string } from '../../../wire/schema.ts'
import { syncRequestSchema } from '../../../wire/service.ts'
import type * as wire from '../../../wire/types.ts'
import * as openapi from '../../description/operation.ts'
import { requireViewer } from '../../middleware/authenticate.ts'
import { sendJson } from '../../middleware/json-response.ts'
import { requireId } from '../../middleware/path-parameters.ts'
import { actorOf } from '../../middleware/request-log.ts'
import type { ApiParts, ServerParts } from '../../server-parts.ts'
import { summaryJson } from '../migrations/migration-json.ts'
import { type ById, migrationIdOf } from '../migrations/migration-paths.ts'
import { tokenJson } from '../tokens/token-json.ts'

const SITE_ADMIN_ONLY = `The response is 404 for accounts that are not \`site_admin\`. ${EXTENSION}`

/** Operations on the migrations, locks and tokens of all accounts; 404 for callers who are not site admins. */
export function addAdminRoutes(app: FastifyInstance, parts: ApiParts): void {
  app.register(async (admin) => {
    admin.addHook('onRequest', (request) => requireSiteAdmin(parts, request))
    addMigrations(admin, parts)
    addLocks(admin, parts)
    addTokens(admin, parts)
    addSync(admin, parts)
  })
}

/** Throws NotFound for other callers, and records their attempts. */
export async function requireSiteAdmin(
  parts: Pick<ServerParts, 'db' | 'now' | 'log'>,
  request: FastifyRequest,
): Promise<void> {
  if (requireViewer(request).account.siteAdmin) return
  const subject = `${request.method} ${request.routeOptions.url}`
  await recordAccess(parts, actorOf(request), 'admin.access', { subject, outcome: 'refused' })
  throw new NotFound()
}

const docs = openapi.operations('Operator', {
  'admin/cancel-migration': {
    summary: 'Cancel any migration',
    description: SITE_ADMIN_ONLY,
    responses: {
      200: openapi.recordResponse('The migration is cancelled.', 'summary'),
      422: openapi.errorResponse('invalid'),
    },
  },
  'admin/retry-migration': {
    summary: 'Retry any migration',
    description: `Starts a new migration of the same account, with the same repositories and options. ${SITE_ADMIN_ONLY}`,
    body: retryRequestSchema,
    responses: { 201: openapi.recordResponse('The new migration.', 'summary') },
  },
  'admin/delete-archive': {
    summary: 'Delete the archive of any migration',
    description: SITE_ADMIN_ONLY,
    responses: { 204: openapi.DONE },
  },
  'admin/release-lock': {
    summary: 'Release the locks of any repository',
    description: `Releases the locks of all migrations. ${SITE_ADMIN_ONLY}`,
    parameters: [openapi.inPath('owner', string, 'alice'), openapi.inPath('name', string, 'atlas')],
    responses: { 204: openapi.DONE },
  },
  'admin/list-tokens': {
    summary: 'List all tokens',
    description: `Without the secrets. ${SITE_ADMIN_ONLY}`,
    responses: {
      200: openapi.jsonResponse('The tokens.', {
        schema: openapi.schemaList('token'),
        example: 'tokens',
      }),
    },
  },
  'admin/revoke-token': {
    summary: 'Revoke any token',
    description: `Also ends the sessions that were opened with it. ${SITE_ADMIN_ONLY}`,
    parameters: [openapi.inPath('token_id', integer, 7)],
    responses: { 204: openapi.DONE },
  },
  'admin/sync-repositories': {
    summary: 'Read some repositories of the host again',
    description: `For a hook of the host, after a push to a repository, or after it was created, renamed or deleted. ${SITE_ADMIN_ONLY}`,
    body: syncRequestSchema,
    responses: { 200: openapi.recordResponse('The catalogue is up to date.', 'sync-report') },
  },
})

function addMigrations(app: FastifyInstance, parts: ApiParts): void {
  const { db } = parts
  const migrationInPath = (request: FastifyRequest<ById>) =>
    migrationById(db, migrationIdOf(request))

  const path = '/admin/migrations/:migration_id'
  app.post<ById>(
    `${path}/cancel`,
    { schema: docs['admin/cancel-migration'] },
    async (request, reply) => {
      const migration = await migrationInPath(request)
      await audited(parts, actorOf(request), (record) =>
        cancelMigration(parts, migration, (tx) =>
          record(tx, 'admin.migration.cancel', aboutMigration(migration)),
        ),
      )
      return sendJson(reply, summaryJson((await summaryById(db, migration.id))!))
    },
  )

  app.post<ById & { Body: wire.RetryRequest }>(
    `${path}/retry`,
    { schema: docs['admin/retry-migration'] },
    async (request, reply) => {
      const migration = await migrationInPath(request)
      const scope = { owner: migration.owner, by: requireViewer(request).account }
      const signal = await parts.startLimit.begin(request, reply)
      const { allow_partial: allowPartial = false } = request.body
      const { id } = await audited(parts, actorOf(request), (record) =>
        retryMigration({ ...parts, signal }, scope, migration, { allowPartial }, (tx, started) =>
          record(tx, 'admin.migration.retry', aboutMigration(started)),
        ),
      )
      return sendJson(reply.code(201), summaryJson((await summaryById(db, id))!))
    },
  )

  app.delete<ById>(
    `${path}/archive`,
    { schema: docs['admin/delete-archive'] },
    async (request, reply) => {
      const migration = await migrationInPath(request)
      await audited(parts, actorOf(request), (record) =>
        deleteArchive(parts, migration, migration.id, (tx) =>
          record(tx, 'admin.migration.delete_archive', aboutMigration(migration)),
        ),
      )
      return reply.code(204).send()
    },
  )
}

function addLocks(app: FastifyInstance, parts: ApiParts): void {
  app.delete<{ Params: { owner: string; name: string } }>(
    '/admin/locks/:owner/:name',
    { schema: docs['admin/release-lock'] },
    async (request, reply) => {
      const { owner, name } = request.params
      const repository = `${owner}/${name}`
      await audited(parts, actorOf(request), (record) =>
        releaseAnyLock(parts, { owner, name }, async (tx) =>
          record(tx, 'admin.lock.release', {
            subject: `repository ${repository}`,
            owner: await findAccount(tx, owner),
            details: { repository },
          }),
        ),
      )
      return reply.code(204).send()
    },
  )
}

function addTokens(app: FastifyInstance, parts: ApiParts): void {
  app.get('/admin/tokens', { schema: docs['admin/list-tokens'] }, async (request, reply) =>
    sendJson(
      reply,
      (await listTokens(parts.db)).map((each) => tokenJson(each, requireViewer(request))),
    ),
  )

  app.delete<{ Params: { token_id: string } }>(
    '/admin/tokens/:token_id',
    { schema: docs['admin/revoke-token'] },
    async (request, reply) => {
      const id = requireId(request.params.token_id)
      await inAuditedTransaction(parts, actorOf(request), async (tx, record) => {
        const owner = await revokeToken(tx, id, parts.now())
        if (!owner) throw new NotFound()
        const about = { subject: `token ${id}`, owner, details: { revoked: id } }
        await record(tx, 'admin.token.revoke', about)
      })
      return reply.code(204).send()
    },
  )
}

function addSync(app: FastifyInstance, parts: ApiParts): void {
  app.post<{ Body: wire.SyncRequest }>(
    '/admin/sync',
    { schema: docs['admin/sync-repositories'], config: { resource: 'Repository' } },
    async (request, reply) => {
      const { source } = parts
      if (!source)
        throw new InvalidRequest([{ code: 'custom', message: 'No repositories are set.' }])
      const names = request.body.repositories
      refuseRepositories(names, (name) => !isFullName(name), 'invalid')
      const signal = await parts.startLimit.begin(request, reply)
      const report = await syncRepositories(
        { ...parts, source, signal },
        names.flatMap((each) => parseFullName(each) ?? []),
      )
      const missing = new Set(report.refused.map(({ path }) => nameKey(path)))
      refuseRepositories(names, (name) => missing.has(nameKey(name)), 'missing')
      return sendJson(reply, {
        repositories: report.found,
        changed: report.read,
        removed: report.missing,
        failed: report.broken.map(({ fullName, reason }) => ({ full_name: fullName, reason })),
      } satisfies wire.SyncReport)
    },
  )
}
