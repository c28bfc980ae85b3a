import type { FastifyRequest } from 'fastify'
import {
  findVisibleOrganization,
  type VisibleOrganization,
} from '../../../accounts/visible-organization.ts'
import type { Db } from '../../../db/database.ts'
import { isName } from '../../../lib/names.ts'
import { viewerOf } from '../../middleware/authenticate.ts'
import { found, idIn } from '../../middleware/named-in-path.ts'

interface InPath {
  org?: string
  organization_id?: string
}

/** The organization that the path names, if the caller may know of it. */
export async function organizationInPath(
  db: Db,
  request: FastifyRequest,
): Promise<VisibleOrganization> {
  const name = found(nameIn(request.params as InPath))
  return found(await findVisibleOrganization(db, viewerOf(request), name))
}

function nameIn({ org, organization_id }: InPath) {
  if (org !== undefined) return isName(org) ? { login: org } : undefined
  return { id: idIn(organization_id) }
}
