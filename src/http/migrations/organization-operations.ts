import { type Operation, parameter } from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'
import { getArchive, listMigrations, startMigration } from './github-migrations-operations.ts'

const WHO =
  'Only for owners of the organization and for site admins; for all others it does not exist.'

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
  return {
    ...told,
    operationId: `${told.operationId.replace(/-for-authenticated-user$/, '')}-for-org`,
    tags: ['Organizations'],
    summary: `${told.summary.replace("the caller's ", '')} (organization)`,
    description: [told.description, WHO].filter((text) => text !== undefined).join(' '),
    parameters: [parameter('org'), ...(told.parameters ?? [])],
    responses: { 404: refusal('not-found'), ...told.responses },
  }
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
