import type { FastifyRequest } from 'fastify'
import { type SeenOrganization, seenOrganization } from '../../accounts/seen-organization.ts'
import type { Db } from '../../db/database.ts'
import { isName } from '../../ground/names.ts'
import { NotFound } from '../../migrations/refusals.ts'
import { viewerOf } from '../door/authenticate.ts'

interface InPath {
  org?: string
  organization_id?: string
}

/** The organization that the path names, if the caller may know of it. */
export async function organizationInPath(
  db: Db,
  request: FastifyRequest,
): Promise<SeenOrganization> {
  const name = nameIn(request.params as InPath)
  const seen = name && (await seenOrganization(db, viewerOf(request), name))
  if (!seen) throw new NotFound()
  return seen
}

function nameIn({ org, organization_id = '' }: InPath) {
  if (org !== undefined) return isName(org) ? { login: org } : undefined
  return /^\d{1,15}$/.test(organization_id) ? { id: Number(organization_id) } : undefined
}
