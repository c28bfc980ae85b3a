import type { FastifyRequest } from 'fastify'
import { findVisibleOrganization } from '../../../accounts/membership-store.ts'
import type { Db } from '../../../db/database.ts'
import { isName } from '../../../lib/names.ts'
import type { Operation } from '../../description/operation.ts'
import { requireFound, requireId, requireViewer } from '../../middleware/request.ts'

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

const OWNERS_ONLY =
  'Only for owners of the organization and for site admins; the response is 404 for all others.'

/** Adapts the description of an operation on the caller's own resources to those of an organization. */
export const describeForOrganization = (operation: Operation, operationId: string): Operation => ({
  ...operation,
  operationId,
  summary: `${operation.summary} (organization)`,
  description: [operation.description, OWNERS_ONLY].filter((text) => text !== undefined).join(' '),
})
