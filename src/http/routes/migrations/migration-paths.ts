import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ownScope, type Scope } from '../../../accounts/account.ts'
import type { Db } from '../../../db/database.ts'
import { NotFound } from '../../../migrations/errors.ts'
import type { Migration } from '../../../migrations/migration.ts'
import {
  findMigration,
  findMigrationToRead,
  type MigrationToRead,
} from '../../../migrations/migration-store.ts'
import { FRESH, STORED } from '../../../repositories/refresh-rights.ts'
import type { Operation } from '../../description/operation.ts'
import { PAGE_PARAMETERS, parameter } from '../../description/operation.ts'
import { requireViewer } from '../../middleware/authenticate.ts'
import { requireFound, requireId } from '../../middleware/path-parameters.ts'
import type { ApiParts, ServerParts } from '../../server-parts.ts'
import { describedForOrganization, organizationInPath } from '../organizations/organization-path.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The organization of the path, or null under paths of the caller. Read it with `scopeOf`. */
    scope: Scope | null
  }
}

/** A path prefix for the routes of migrations. The same routes are registered under each. */
export interface MigrationsPath {
  path: string
  /** The Fastify route config of the operations that GitHub has too. */
  config: { previewed?: boolean }
  /** Whether a list accepts `exclude=repositories`. */
  hasBriefList: boolean
  /** Adapts the description of an operation to this path. */
  describe(operation: Operation): Operation
}

/** Registers routes under a path. */
export type AddMigrationRoutes = (
  app: FastifyInstance,
  parts: ApiParts,
  migrationsPath: MigrationsPath,
) => void

export const CALLER_PATH: MigrationsPath = {
  path: '/user/migrations',
  config: { previewed: true },
  hasBriefList: false,
  describe: (operation) => operation,
}

/** GitHub's clients do not send the preview media type to these operations, so it is not required. */
export const ORGANIZATION_PATH: MigrationsPath = {
  path: '/orgs/:org/migrations',
  config: {},
  hasBriefList: true,
  describe: forOrganization,
}

export const ORGANIZATION_ID_PATH: MigrationsPath = {
  ...ORGANIZATION_PATH,
  path: '/organizations/:organization_id/migrations',
  describe: forNumberedOrganization,
}

/** What the description for an organization changes beyond its operation id, summary and parameters. */
const ORGANIZATION_OVERRIDES: Record<string, Partial<Operation>> = {
  'migrations/start-for-authenticated-user': {
    description: 'Starts an export of repositories of the organization.',
  },
  'migrations/list-for-authenticated-user': {
    parameters: [parameter('exclude'), ...PAGE_PARAMETERS],
  },
  'migrations/get-archive-for-authenticated-user': {
    operationId: 'migrations/download-archive',
  },
}

function forOrganization(operation: Operation): Operation {
  const overridden = { ...operation, ...ORGANIZATION_OVERRIDES[operation.operationId] }
  const operationId = `${overridden.operationId.replace(/-for-authenticated-user$/, '')}-for-org`
  const summary = overridden.summary.replace("the caller's ", '')
  return describedForOrganization({ ...overridden, tags: ['Organizations'], summary }, operationId)
}

function forNumberedOrganization(operation: Operation): Operation {
  const { parameters = [], ...described } = forOrganization(operation)
  return {
    ...described,
    operationId: `${described.operationId}-id`,
    summary: described.summary.replace('(organization)', '(organization by ID)'),
    parameters: [parameter('organization-id'), ...parameters.slice(1)],
  }
}

/** Sets the scope of every later route of `app` to the organization in its path; 404 unless the caller may migrate it. */
export function requireOrganization(
  app: FastifyInstance,
  { db, rights }: Pick<ServerParts, 'db' | 'rights'>,
): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-accepted-oauth-scopes', 'admin:org, repo')
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    await rights?.refresh(requireViewer(request).account, isRead ? STORED : FRESH)
    const { account, mayMigrate } = await organizationInPath(db, request)
    if (!mayMigrate) throw new NotFound()
    request.scope = { owner: account, by: requireViewer(request).account }
  })
}

/** Returns whose migrations, schedules or webhooks the path is about. */
export const scopeOf = (request: FastifyRequest): Scope =>
  request.scope ?? ownScope(requireViewer(request))

export interface ById {
  Params: { migration_id: string }
  Querystring: Record<string, unknown>
}

export const migrationIdOf = ({ params }: FastifyRequest<ById>): number =>
  requireId(params.migration_id)

/** Returns the migration that the path names; throws 404 if the scope has no such migration. */
export async function migrationInPath(db: Db, request: FastifyRequest<ById>): Promise<Migration> {
  return requireFound(await findMigration(db, scopeOf(request), migrationIdOf(request)))
}

/** Like `migrationInPath`, with the part of the snapshot that holds the repository at `offset`. */
export async function migrationInPathToRead(
  db: Db,
  request: FastifyRequest<ById>,
  from: { offset: number },
): Promise<MigrationToRead> {
  return requireFound(await findMigrationToRead(db, scopeOf(request), migrationIdOf(request), from))
}
