import { EXTENSION, enumOf, integer, string } from '@godwit/contract/schemas/schema'
import * as wire from '@godwit/contract/schemas/types'
import { isFullName, parseFullName } from '@godwit/lib/names'
import { InvalidRequest, NotFound, refuseRepositories } from '@godwit/lib/request-errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { nameKey } from '../../../accounts/account.ts'
import { findAccount } from '../../../accounts/account-store.ts'
import { audited, inAuditedTransaction } from '../../../accounts/audit-log.ts'
import { listTokens, revokeToken } from '../../../accounts/token-store.ts'
import { isComposing } from '../../../blobs/blob-store.ts'
import { deleteArchive } from '../../../migrations/archive-store.ts'
import { cancelMigration } from '../../../migrations/end-migration.ts'
import { migrationById } from '../../../migrations/export-store.ts'
import { releaseAnyLock } from '../../../migrations/locks.ts'
import { aboutMigration } from '../../../migrations/migration.ts'
import { migrationOwner } from '../../../migrations/migration-store.ts'
import { retryMigration } from '../../../migrations/retry-migration.ts'
import {
  createStorageUseReader,
  readServiceState,
  throughputPeriods,
} from '../../../migrations/service-state.ts'
import { summaryById } from '../../../migrations/summaries.ts'
import { smallestFreeBytes, totalScratchBytes } from '../../../queue/process-store.ts'
import { syncRepositories } from '../../../repositories/sync.ts'
import * as openapi from '../../description/operation.ts'
import { type FailedLogins, requireSiteAdmin } from '../../middleware/authenticate.ts'
import { sendIfNotModified, sendJson } from '../../middleware/json-response.ts'
import { actorOf, requireId, requireViewer, type WithQuery } from '../../middleware/request.ts'
import { summaryJson } from '../../rendering/migration-json.ts'
import { tokenJson } from '../../rendering/token-json.ts'
import type { ApiDependencies, ServerDependencies } from '../../server-dependencies.ts'
import { serviceStateJson } from './service-state-json.ts'

const SITE_ADMIN_ONLY = `The response is 404 for accounts that are not \`site_admin\`. ${EXTENSION}`

const routes = openapi.routes('Operator')({
  'admin/cancel-migration': {
    config: { worksOnFullDisk: true },
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
    body: wire.retryRequestSchema,
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
    config: { resource: 'Repository' },
    summary: 'Read some repositories of the host again',
    description: `For a hook of the host, after a push to a repository, or after it was created, renamed or deleted. ${SITE_ADMIN_ONLY}`,
    body: wire.syncRequestSchema,
    responses: {
      200: openapi.recordResponse('The repository index is up to date.', 'sync-report'),
    },
  },
  'admin/get-service-state': {
    summary: 'Get the state of the whole service',
    description: `Running and waiting jobs, storage, locks, failures, workers and throughput. ${SITE_ADMIN_ONLY}`,
    query: { period: enumOf(throughputPeriods, 'hour').describe('Period of `throughput`.') },
    responses: {
      ...openapi.recordResponses('The state of the service.', 'service-state'),
      422: openapi.errorResponse('invalid-query'),
    },
  },
})

/** Operations on the migrations, locks and tokens of all accounts; 404 for callers who are not site admins. */
export function addAdminRoutes(
  app: FastifyInstance,
  dependencies: ApiDependencies,
  logins: FailedLogins,
): void {
  app.register(async (admin) => {
    admin.addHook('onRequest', (request) => requireSiteAdmin(logins, request))
    addServiceState(admin, dependencies)
    addMigrations(admin, dependencies)
    addLocksAndTokens(admin, dependencies)
    addSync(admin, dependencies)
  })
}

function addServiceState(app: FastifyInstance, dependencies: ServerDependencies): void {
  const { db, blobs, now, version } = dependencies
  const readStorageUse = createStorageUseReader(dependencies)

  async function readStorage() {
    const [use, scratchBytes, freeBytes] = await Promise.all([
      readStorageUse(),
      totalScratchBytes(db, now()),
      isComposing(blobs) ? null : smallestFreeBytes(db, now()),
    ])
    return { ...use, scratchBytes, freeBytes }
  }

  const options = routes['admin/get-service-state']
  app.get<WithQuery>('/admin/service', options, async ({ query }, reply) => {
    const period = throughputPeriods.find((each) => each === (query.period ?? 'hour'))
    if (!period)
      throw new InvalidRequest([{ resource: 'Service', field: 'period', code: 'invalid' }])
    const [state, storage] = await Promise.all([
      readServiceState(dependencies, period),
      readStorage(),
    ])
    const body = serviceStateJson(state, storage, version)
    // These fields change all the time, so the ETag does not cover them.
    const stable = {
      ...body,
      observed_at: '',
      storage: { ...body.storage, free_bytes: 0, scratch_bytes: 0, used_bytes: 0 },
    }
    if (sendIfNotModified(reply, [JSON.stringify(stable)])) return reply
    return sendJson(reply, body)
  })
}

type ById = { Params: { migration_id: string } }

function addMigrations(app: FastifyInstance, dependencies: ApiDependencies): void {
  const { db } = dependencies
  const path = '/admin/migrations/:migration_id'
  const migrationInPath = (request: FastifyRequest<ById>) =>
    migrationById(db, requireId(request.params.migration_id))

  app.post<ById>(`${path}/cancel`, routes['admin/cancel-migration'], async (request, reply) => {
    const migration = await migrationInPath(request)
    await audited(dependencies, actorOf(request), (record) =>
      cancelMigration(dependencies, migration, (tx) =>
        record(tx, 'admin.migration.cancel', aboutMigration(migration)),
      ),
    )
    return sendJson(reply, summaryJson((await summaryById(db, migration.id))!))
  })

  type Retry = ById & { Body: wire.RetryRequest }
  app.post<Retry>(`${path}/retry`, routes['admin/retry-migration'], async (request, reply) => {
    const migration = await migrationInPath(request)
    const owner = (await migrationOwner(db, migration.id))!
    const scope = { owner, by: requireViewer(request).account }
    const signal = await dependencies.startLimit.begin(request, reply)
    const { allow_partial: allowPartial = false } = request.body
    const { id } = await audited(dependencies, actorOf(request), (record) =>
      retryMigration(
        { ...dependencies, signal },
        scope,
        migration,
        { allowPartial },
        (tx, started) => record(tx, 'admin.migration.retry', aboutMigration(started)),
      ),
    )
    return sendJson(reply.code(201), summaryJson((await summaryById(db, id))!))
  })

  app.delete<ById>(`${path}/archive`, routes['admin/delete-archive'], async (request, reply) => {
    const migration = await migrationInPath(request)
    await audited(dependencies, actorOf(request), (record) =>
      deleteArchive(dependencies, migration, migration.id, (tx) =>
        record(tx, 'admin.migration.delete_archive', aboutMigration(migration)),
      ),
    )
    return reply.code(204).send()
  })
}

function addLocksAndTokens(app: FastifyInstance, dependencies: ApiDependencies): void {
  type Lock = { Params: { owner: string; name: string } }
  const releaseLock = routes['admin/release-lock']
  app.delete<Lock>('/admin/locks/:owner/:name', releaseLock, async (request, reply) => {
    const { owner, name } = request.params
    const repository = `${owner}/${name}`
    if (!isFullName(repository)) throw new NotFound()
    await audited(dependencies, actorOf(request), (record) =>
      releaseAnyLock(dependencies, { owner, name }, async (tx) =>
        record(tx, 'admin.lock.release', {
          subject: `repository ${repository}`,
          owner: await findAccount(tx, owner),
          details: { repository },
        }),
      ),
    )
    return reply.code(204).send()
  })

  app.get('/admin/tokens', routes['admin/list-tokens'], async (request, reply) => {
    const viewer = requireViewer(request)
    const tokens = await listTokens(dependencies.db)
    const body = tokens.map((each) => tokenJson(each, viewer))
    return sendJson(reply, body)
  })

  type Token = { Params: { token_id: string } }
  const revokeOptions = routes['admin/revoke-token']
  app.delete<Token>('/admin/tokens/:token_id', revokeOptions, async (request, reply) => {
    const id = requireId(request.params.token_id)
    await inAuditedTransaction(dependencies, actorOf(request), async (tx, record) => {
      const owner = await revokeToken(tx, id, dependencies.now())
      if (!owner) throw new NotFound()
      const about = { subject: `token ${id}`, owner, details: { revoked: id } }
      await record(tx, 'admin.token.revoke', about)
    })
    return reply.code(204).send()
  })
}

/** An entry of the audit log names at most so many repositories. */
const MAX_RECORDED_NAMES = 20

function addSync(app: FastifyInstance, dependencies: ApiDependencies): void {
  type Sync = { Body: wire.SyncRequest }
  app.post<Sync>('/admin/sync', routes['admin/sync-repositories'], async (request, reply) => {
    const { source } = dependencies
    if (!source) throw new InvalidRequest([{ code: 'custom', message: 'No repositories are set.' }])
    const names = request.body.repositories
    refuseRepositories(names, (name) => !isFullName(name), 'invalid')
    const signal = await dependencies.startLimit.begin(request, reply)
    const actor = actorOf(request)
    const details = { repositories: names.slice(0, MAX_RECORDED_NAMES), count: names.length }
    await inAuditedTransaction(dependencies, actor, (tx, record) =>
      record(tx, 'catalogue.sync', { details }),
    )
    const report = await syncRepositories(
      { ...dependencies, source, signal, actor },
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
  })
}
