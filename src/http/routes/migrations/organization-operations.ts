import type { Operation } from '../../description/operation.ts'
import { parameter } from '../../description/parameters.ts'
import { describedForOrganization } from '../organizations/for-organization.ts'
import { getArchive, listMigrations, startMigration } from './github-migrations-operations.ts'

/** Where more differs than whose migrations it is about. */
const OTHERWISE: Record<string, Partial<Operation>> = {
  [startMigration.operationId]: {
    description: 'Starts an export of repositories of the organization.',
  },
  [listMigrations.operationId]: {
    parameters: [parameter('exclude'), ...listMigrations.parameters],
  },
  [getArchive.operationId]: { operationId: 'migrations/download-archive' },
}

/** An operation on migrations as it is described for those of an organization. */
export function forOrganization(operation: Operation): Operation {
  const told = { ...operation, ...OTHERWISE[operation.operationId] }
  const operationId = `${told.operationId.replace(/-for-authenticated-user$/, '')}-for-org`
  const summary = told.summary.replace("the caller's ", '')
  return describedForOrganization({ ...told, tags: ['Organizations'], summary }, operationId)
}

export function forNumberedOrganization(operation: Operation): Operation {
  const { parameters = [], ...told } = forOrganization(operation)
  return {
    ...told,
    operationId: `${told.operationId}-id`,
    summary: told.summary.replace('(organization)', '(organization by ID)'),
    parameters: [parameter('organization-id'), ...parameters.slice(1)],
  }
}
