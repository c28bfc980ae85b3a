import type { FastifyInstance } from 'fastify'
import { NotFound } from '../../../migrations/errors.ts'
import { FRESH, STORED } from '../../../repositories/refresh-rights.ts'
import type { Operation } from '../../description/operation.ts'
import { viewerOf } from '../../middleware/authenticate.ts'
import type { ServerParts } from '../../server-parts.ts'
import { organizationInPath } from '../organizations/organization-in-path.ts'
import { forNumberedOrganization, forOrganization } from './organization-operations.ts'

/** A path that migrations are found under. The operations are the same under each. */
export interface MigrationsPath {
  path: string
  /** Of what belongs to the preview. */
  config: { previewed?: boolean }
  /** Whether a list can do without the repositories. */
  hasBriefList: boolean
  describe<O extends Operation>(operation: O): Operation
}

export const CALLER_PATH: MigrationsPath = {
  path: '/user/migrations',
  config: { previewed: true },
  hasBriefList: false,
  describe: (operation) => operation,
}

/** No preview is asked for: no client of these operations sends it. */
export const ORGANIZATION_PATH: MigrationsPath = {
  path: '/orgs/:org/migrations',
  config: {},
  hasBriefList: true,
  describe: forOrganization,
}

/** The same by number. */
export const ORGANIZATION_ID_PATH: MigrationsPath = {
  ...ORGANIZATION_PATH,
  path: '/organizations/:organization_id/migrations',
  describe: forNumberedOrganization,
}

/** What is added to the app after this is about the organization in the path, and is there only for those who may migrate it. */
export function enterOrganization(
  app: FastifyInstance,
  { db, rights }: Pick<ServerParts, 'db' | 'rights'>,
): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-accepted-oauth-scopes', 'admin:org, repo')
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    await rights?.refresh(viewerOf(request).account, isRead ? STORED : FRESH)
    const { account, mayMigrate } = await organizationInPath(db, request)
    if (!mayMigrate) throw new NotFound()
    request.scope = { owner: account, by: viewerOf(request).account }
  })
}
