import { isName } from '@godwit/lib/names'
import { NotFound } from '@godwit/lib/request-errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ownScope, type Scope } from '../../accounts/account.ts'
import { findVisibleOrganization } from '../../accounts/membership-store.ts'
import type { Db } from '../../db/database.ts'
import * as permissionsAge from '../../repositories/refresh-permissions.ts'
import type { Operation, RouteOptions } from '../description/operation.ts'
import { requireFound, requireId, requireViewer } from '../middleware/request.ts'
import type { ApiDependencies, ServerDependencies } from '../server-dependencies.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The scope of an organization's path, or null under the caller's own paths. Read it with `scopeOf`. */
    scope: Scope | null
  }
}

/**
 * A path prefix for the routes of migrations, schedules or webhooks: the caller's or an organization's. The same routes are registered
 * under each.
 */
export interface ScopedPath {
  path: string
  /** Whether a list accepts `exclude=repositories`. */
  hasBriefList: boolean
  /** Adapts the description of a route to this path. */
  options(route: RouteOptions): RouteOptions
  /** Like `options`, for a route that is part of GitHub's preview. */
  previewOptions(route: RouteOptions): RouteOptions
}

/** Adds routes under a path. `Extra` are dependencies that only these routes need. */
export type AddScopedRoutes<Extra = unknown> = (
  app: FastifyInstance,
  dependencies: ApiDependencies & Extra,
  path: ScopedPath,
) => void

export const callerPath = (path: string): ScopedPath => ({
  path,
  hasBriefList: false,
  options: (route) => route,
  previewOptions: ({ schema, config }) => ({ schema, config: { ...config, previewed: true } }),
})

/** GitHub's clients do not send the preview media type to the operations of organizations, so it is not required. */
export function organizationPath(
  path: string,
  describe: (operation: Operation) => Operation,
): ScopedPath {
  const options = ({ schema, config }: RouteOptions) => ({ schema: describe(schema), config })
  return { path, hasBriefList: true, options, previewOptions: options }
}

/** Part of the descriptions of operations on an organization. */
export const MEMBERS_ONLY =
  'Only for members of the organization and for site admins; the response is 404 for all others.'

const OWNERS_ONLY =
  'Only for owners of the organization and for site admins; the response is 404 for all others.'

/** Adapts the description of an operation on the caller's own resources to those of an organization. */
export const describeForOrganization = (operation: Operation, operationId: string): Operation => ({
  ...operation,
  operationId,
  summary: `${operation.summary} (organization)`,
  description: [operation.description, OWNERS_ONLY].filter((text) => text !== undefined).join(' '),
})

type OrganizationParams = { org?: string; organization_id?: string }

/** Returns the organization that the path names; throws 404 if the caller may not see it. */
export async function organizationInPath(db: Db, request: FastifyRequest) {
  const key = requireFound(organizationKey(request.params as OrganizationParams))
  return requireFound(await findVisibleOrganization(db, requireViewer(request), key))
}

function organizationKey({ org, organization_id }: OrganizationParams) {
  if (org !== undefined) return isName(org) ? { login: org } : undefined
  return { id: requireId(organization_id) }
}

/** Sets the scope of every later route of `app` to the organization in its path; 404 unless the caller may migrate it. */
export function requireOrganization(
  app: FastifyInstance,
  { db, permissionsRefresher }: ServerDependencies,
): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-accepted-oauth-scopes', 'admin:org, repo')
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const isArchiveLink = /\/archive(\/link)?$/.test(request.routeOptions.url ?? '')
    const ageOfRead = isArchiveLink
      ? permissionsAge.FRESH_IF_AVAILABLE
      : permissionsAge.RECENT_IF_AVAILABLE
    await permissionsRefresher?.refresh(
      requireViewer(request).account,
      isRead ? ageOfRead : permissionsAge.FRESH,
    )
    const { account, mayMigrate } = await organizationInPath(db, request)
    if (!mayMigrate) throw new NotFound()
    request.scope = { owner: account, by: requireViewer(request).account }
  })
}

/** Returns the caller, and the owner of the migrations, schedules or webhooks that the path names. */
export const scopeOf = (request: FastifyRequest): Scope =>
  request.scope ?? ownScope(requireViewer(request))
