import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ownScope, type Scope } from '../../../accounts/account.ts'
import type { Db } from '../../../db/database.ts'
import { NotFound } from '../../../lib/request-errors.ts'
import type { Migration } from '../../../migrations/migration.ts'
import { findMigration, findMigrationWithList } from '../../../migrations/migration-store.ts'
import { findSummary, type Summary } from '../../../migrations/summaries.ts'
import * as rightsAge from '../../../repositories/refresh-rights.ts'
import { type Operation, parameter, type RouteOptions } from '../../description/operation.ts'
import { requireFound, requireId, requireViewer, type WithQuery } from '../../middleware/request.ts'
import type { ApiParts, ServerParts } from '../../server-parts.ts'
import { describeForOrganization, organizationInPath } from '../organizations/organization-path.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The scope of an organization's path, or null under the caller's own paths. Read it with `scopeOf`. */
    scope: Scope | null
  }
}

/** A path prefix for the routes of migrations or webhooks: the caller's or an organization's. The same routes are registered under each. */
export interface ScopedPath {
  path: string
  /** Whether a list accepts `exclude=repositories`. */
  hasBriefList: boolean
  /** Adapts the description of a route to this path. */
  options(route: RouteOptions): RouteOptions
  /** Like `options`, for a route that is part of GitHub's preview. */
  previewOptions(route: RouteOptions): RouteOptions
}

export type AddScopedRoutes = (app: FastifyInstance, parts: ApiParts, path: ScopedPath) => void

export const CALLER_PATH: ScopedPath = {
  path: '/user/migrations',
  hasBriefList: false,
  options: (route) => route,
  previewOptions: ({ schema, config }) => ({ schema, config: { ...config, previewed: true } }),
}

export const ORGANIZATION_PATH = organizationPath('/orgs/:org/migrations', forOrganization)
export const ORGANIZATION_ID_PATH = organizationPath(
  '/organizations/:organization_id/migrations',
  forNumberedOrganization,
)

/** GitHub's clients do not send the preview media type to the operations of organizations, so it is not required. */
export function organizationPath(path: string, describe: typeof forOrganization): ScopedPath {
  const options = ({ schema, config }: RouteOptions) => ({ schema: describe(schema), config })
  return { path, hasBriefList: true, options, previewOptions: options }
}

/** Differences of an organization's operation, other than its operation id, tag and summary. */
const ORGANIZATION_OVERRIDES: Record<string, Partial<Operation>> = {
  'migrations/start-for-authenticated-user': {
    description: 'Starts an export of repositories of the organization.',
  },
  'migrations/list-for-authenticated-user': {
    parameters: [parameter('exclude')],
  },
  'migrations/get-archive-for-authenticated-user': {
    operationId: 'migrations/download-archive',
  },
}

function forOrganization(operation: Operation): Operation {
  const overridden = { ...operation, ...ORGANIZATION_OVERRIDES[operation.operationId] }
  const operationId = `${overridden.operationId.replace(/-for-authenticated-user$/, '')}-for-org`
  const summary = overridden.summary.replace("the caller's ", '')
  return describeForOrganization({ ...overridden, tags: ['Organizations'], summary }, operationId)
}

function forNumberedOrganization(operation: Operation): Operation {
  const described = forOrganization(operation)
  return {
    ...described,
    operationId: `${described.operationId}-id`,
    summary: described.summary.replace('(organization)', '(organization by ID)'),
  }
}

/** Sets the scope of every later route of `app` to the organization in its path; 404 unless the caller may migrate it. */
export function requireOrganization(app: FastifyInstance, { db, rights }: ServerParts): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-accepted-oauth-scopes', 'admin:org, repo')
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const isArchiveLink = /\/archive(\/link)?$/.test(request.routeOptions.url ?? '')
    const ageOfRead = isArchiveLink ? rightsAge.FRESH_IF_AVAILABLE : rightsAge.RECENT_IF_AVAILABLE
    await rights?.refresh(requireViewer(request).account, isRead ? ageOfRead : rightsAge.FRESH)
    const { account, mayMigrate } = await organizationInPath(db, request)
    if (!mayMigrate) throw new NotFound()
    request.scope = { owner: account, by: requireViewer(request).account }
  })
}

/** Returns the caller, and the owner of the migrations, schedules or webhooks that the path names. */
export const scopeOf = (request: FastifyRequest): Scope =>
  request.scope ?? ownScope(requireViewer(request))

export interface ById extends WithQuery {
  Params: { migration_id: string }
}

export const migrationIdOf = ({ params }: FastifyRequest<ById>): number =>
  requireId(params.migration_id)

/** Returns the migration that the path names; throws 404 if the scope has no such migration. */
export async function migrationInPath(db: Db, request: FastifyRequest<ById>): Promise<Migration> {
  return requireFound(await findMigration(db, scopeOf(request), migrationIdOf(request)))
}

/** Like `migrationInPath`, with the part of its repository list that contains the repository at `offset`. */
export const migrationWithListInPath = async (
  db: Db,
  request: FastifyRequest<ById>,
  from?: { offset: number },
): Promise<Migration> =>
  requireFound(await findMigrationWithList(db, scopeOf(request), migrationIdOf(request), from))

/** Like `migrationInPath`, with the totals of the migration. */
export async function summaryInPath(db: Db, request: FastifyRequest<ById>): Promise<Summary> {
  return requireFound(await findSummary(db, scopeOf(request), migrationIdOf(request)))
}
