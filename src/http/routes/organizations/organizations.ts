import type { FastifyInstance } from 'fastify'
import type { MembershipRole } from '../../../accounts/membership.ts'
import { membersOf, organizationsOf } from '../../../accounts/membership-store.ts'
import { InvalidRequest } from '../../../migrations/errors.ts'
import type { RepositoryFilter } from '../../../repositories/administered-repositories.ts'
import { countPublic } from '../../../repositories/repository-store.ts'
import { answerPageOf } from '../../answer-page.ts'
import { viewerOf } from '../../middleware/authenticate.ts'
import { answerIfChanged } from '../../middleware/json-answer.ts'
import type { ServerParts } from '../../server-parts.ts'
import { repositoryLists } from '../repositories/answer-repositories.ts'
import { repositoryQueryOf } from '../repositories/repository-query.ts'
import { userJson } from '../users/user-json.ts'
import { organizationInPath } from './organization-in-path.ts'
import { fullOrganizationJson, membershipJson, organizationJson } from './organization-json.ts'
import * as operations from './organizations-operations.ts'

type Parts = Pick<ServerParts, 'db' | 'rendering' | 'cloneTokens'>
type Asked = { Querystring: Record<string, unknown> }

/** Organizations as their members see them, and a person's memberships. */
export function organizations(app: FastifyInstance, parts: Parts): void {
  const { db, rendering } = parts
  const { addresses } = rendering
  for (const [path, schema] of [
    ['/orgs/:org', operations.getOrganization],
    ['/organizations/:organization_id', operations.getNumberedOrganization],
  ] as const) {
    app.get(path, { schema }, async (request, reply) => {
      const { account } = await organizationInPath(db, request)
      const body = fullOrganizationJson(account, await countPublic(db, account), addresses)
      return answerIfChanged(request, reply, body)
    })
  }
  repositories(app, parts)

  app.get<Asked>(
    '/orgs/:org/members',
    { schema: operations.listMembers },
    async (request, reply) => {
      const { account } = await organizationInPath(db, request)
      const all = (await membersOf(db, [account])).get(account.id) ?? []
      const role = ROLES.get(request.query.role)
      const asked = role ? all.filter((each) => each.role === role) : all
      return answerPageOf(request, reply, addresses, asked, (each) =>
        userJson(each.account, addresses),
      )
    },
  )

  app.get<Asked>(
    '/user/orgs',
    { schema: operations.listOwnOrganizations },
    async (request, reply) => {
      const all = await organizationsOf(db, viewerOf(request).account)
      return answerPageOf(request, reply, addresses, all, (each) =>
        organizationJson(each.account, addresses),
      )
    },
  )

  app.get<Asked>(
    '/user/memberships/orgs',
    { schema: operations.listOwnMemberships },
    async (request, reply) => {
      const { account } = viewerOf(request)
      const all = request.query.state === 'pending' ? [] : await organizationsOf(db, account)
      return answerPageOf(request, reply, addresses, all, (each) =>
        membershipJson(each, account, addresses),
      )
    },
  )
}

const TYPES = new Map<unknown, Partial<RepositoryFilter>>([
  ['all', {}],
  ['member', {}],
  ['public', { isPrivate: false }],
  ['private', { isPrivate: true }],
  ['forks', { isFork: true }],
  ['sources', { isFork: false }],
])

function ofType(type: unknown): Partial<RepositoryFilter> {
  const filter = TYPES.get(type)
  if (!filter)
    throw new InvalidRequest([{ resource: 'Repository', field: 'type', code: 'invalid' }])
  return filter
}

const ROLES = new Map<unknown, MembershipRole>([
  ['admin', 'owner'],
  ['member', 'member'],
])

function repositories(app: FastifyInstance, parts: Parts): void {
  const { db } = parts
  const answerList = repositoryLists(parts)
  app.get<Asked>(
    '/orgs/:org/repos',
    { schema: operations.listOrganizationRepositories },
    async (request, reply) => {
      const { account, mayMigrate } = await organizationInPath(db, request)
      const viewer = viewerOf(request)
      const { type = 'all', ...query } = request.query
      const { filter: asked, order } = repositoryQueryOf({ sort: 'created', ...query })
      const readableBy = mayMigrate ? undefined : viewer.account.id
      const filter = { ...asked, ...ofType(type), affiliations: ['owner'] as const, readableBy }
      const own = { account }
      const seenBy = mayMigrate ? own : viewer
      return answerList(request, reply, { of: own, seenBy, filter, order })
    },
  )
}
