import type { FastifyRequest } from 'fastify'
import type { Db } from '../../../db/database.ts'
import type { Migration } from '../../../migrations/migration.ts'
import { findMigration, findMigrationWithList } from '../../../migrations/migration-store.ts'
import { findSummary, type Summary } from '../../../migrations/summaries.ts'
import { type Operation, parameter } from '../../description/operation.ts'
import { requireFound, requireId, type WithQuery } from '../../middleware/request.ts'
import {
  callerPath,
  describeForOrganization,
  organizationPath,
  scopeOf,
} from '../../scopes/scoped-path.ts'

export const CALLER_PATH = callerPath('/user/migrations')
export const ORGANIZATION_PATH = organizationPath('/orgs/:org/migrations', forOrganization)
export const ORGANIZATION_ID_PATH = organizationPath(
  '/organizations/:organization_id/migrations',
  forNumberedOrganization,
)

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

export interface ById extends WithQuery {
  Params: { migration_id: string }
}

const migrationIdOf = ({ params }: FastifyRequest<ById>): number => requireId(params.migration_id)

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
