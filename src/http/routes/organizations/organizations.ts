import type { FastifyInstance } from 'fastify'
import type { MembershipRole } from '../../../accounts/account.ts'
import { membersOf, organizationsOf } from '../../../accounts/membership-store.ts'
import { InvalidRequest } from '../../../migrations/errors.ts'
import type { RepositoryFilter } from '../../../repositories/administered-repositories.ts'
import { countPublic } from '../../../repositories/repository-store.ts'
import { enumOf } from '../../../wire/schema.ts'
import * as openapi from '../../description/operation.ts'
import { requireViewer } from '../../middleware/authenticate.ts'
import { sendJsonWithEtag } from '../../middleware/json-response.ts'
import { sendPageOf } from '../../middleware/pagination.ts'
import type { ServerParts } from '../../server-parts.ts'
import {
  LIST_PARAMETERS,
  LIST_RESPONSES,
  repositoryQueryOf,
  searchInNames,
  searchNamesOnly,
  sendRepositoryList,
  sorts,
} from '../repositories/repository-list.ts'
import { userJson } from '../users/user-json.ts'
import { fullOrganizationJson, membershipJson, organizationJson } from './organization-json.ts'
import { organizationInPath } from './organization-path.ts'

type WithQuery = { Querystring: Record<string, unknown> }
type Parts = Pick<ServerParts, 'db' | 'rendering' | 'cloneTokens'>

const MEMBERS_ONLY =
  'Only for members of the organization and for site admins; the response is 404 for all others.'

/** Adds the organizations that the caller may see, and the caller's memberships. */
export function addOrganizationRoutes(app: FastifyInstance, parts: Parts): void {
  addOrganization(app, parts)
  addRepositories(app, parts)
  addMembers(app, parts)
  addCallerOrganizations(app, parts)
}

const docs = openapi.operations('Organizations', {
  'orgs/get': {
    summary: 'Get an organization',
    description: MEMBERS_ONLY,
    responses: openapi.recordResponses('The organization.', 'full-organization'),
  },
  'orgs/get-by-id': {
    summary: 'Get an organization by ID',
    description: MEMBERS_ONLY,
    responses: openapi.recordResponses('The organization.', 'full-organization'),
  },
  'repos/list-for-org': {
    summary: 'List the repositories of an organization',
    description: `Owners and site admins get all repositories, other members those that they may read. ${MEMBERS_ONLY}`,
    parameters: [
      searchInNames,
      openapi.inQuery(
        'type',
        enumOf(['all', 'public', 'private', 'forks', 'sources', 'member'], 'all'),
      ),
      openapi.inQuery('sort', enumOf(sorts, 'created')),
      ...LIST_PARAMETERS,
    ],
    responses: LIST_RESPONSES,
  },
  'orgs/list-members': {
    summary: 'List the members of an organization',
    description: MEMBERS_ONLY,
    parameters: [
      openapi.inQuery(
        'role',
        enumOf(['all', 'admin', 'member'], 'all'),
        'Only members with this role; `admin` for owners. Other values are ignored.',
      ),
      ...openapi.PAGE_PARAMETERS,
    ],
    responses: openapi.pageResponses('user', 'users'),
  },
  'orgs/list-for-authenticated-user': {
    summary: 'List the organizations of the caller',
    parameters: openapi.PAGE_PARAMETERS,
    responses: openapi.pageResponses('organization', 'organizations'),
  },
  'orgs/list-memberships-for-authenticated-user': {
    summary: 'List the memberships of the caller',
    parameters: [
      openapi.inQuery(
        'state',
        enumOf(['active', 'pending']),
        'Every membership is `active`, so the list for `pending` is empty. Other values are ignored.',
      ),
      ...openapi.PAGE_PARAMETERS,
    ],
    responses: openapi.pageResponses('organization-membership', 'organization-memberships'),
  },
})

function addOrganization(app: FastifyInstance, { db, rendering }: Parts): void {
  for (const [path, schema] of [
    ['/orgs/:org', docs['orgs/get']],
    ['/organizations/:organization_id', docs['orgs/get-by-id']],
  ] as const) {
    app.get(path, { schema }, async (request, reply) => {
      const { account } = await organizationInPath(db, request)
      const publicCount = await countPublic(db, account)
      const body = fullOrganizationJson(account, publicCount, rendering.addresses)
      return sendJsonWithEtag(request, reply, body)
    })
  }
}

const FILTER_OF_TYPE = new Map<unknown, Partial<RepositoryFilter>>([
  ['all', {}],
  ['member', {}],
  ['public', { isPrivate: false }],
  ['private', { isPrivate: true }],
  ['forks', { isFork: true }],
  ['sources', { isFork: false }],
])

function addRepositories(app: FastifyInstance, parts: Parts): void {
  app.get<WithQuery>(
    '/orgs/:org/repos',
    { schema: docs['repos/list-for-org'] },
    async (request, reply) => {
      const { account, mayMigrate } = await organizationInPath(parts.db, request)
      const viewer = requireViewer(request)
      const { type = 'all', ...query } = request.query
      const { filter, order } = repositoryQueryOf({ sort: 'created', ...query })
      const typeFilter = FILTER_OF_TYPE.get(type)
      if (!typeFilter)
        throw new InvalidRequest([{ resource: 'Repository', field: 'type', code: 'invalid' }])
      return sendRepositoryList(parts, request, reply, {
        of: { account },
        seenBy: mayMigrate ? { account } : viewer,
        filter: {
          ...searchNamesOnly(filter, account.login),
          ...typeFilter,
          affiliations: ['owner'],
          readableBy: mayMigrate ? undefined : viewer.account.id,
        },
        order,
      })
    },
  )
}

const ROLES = new Map<unknown, MembershipRole>([
  ['admin', 'owner'],
  ['member', 'member'],
])

function addMembers(app: FastifyInstance, { db, rendering }: Parts): void {
  const { addresses } = rendering
  app.get<WithQuery>(
    '/orgs/:org/members',
    { schema: docs['orgs/list-members'] },
    async (request, reply) => {
      const { account } = await organizationInPath(db, request)
      const all = (await membersOf(db, [account])).get(account.id) ?? []
      const role = ROLES.get(request.query.role)
      const members = role ? all.filter((each) => each.role === role) : all
      return sendPageOf(request, reply, addresses, members, (each) =>
        userJson(each.account, addresses),
      )
    },
  )
}

function addCallerOrganizations(app: FastifyInstance, { db, rendering }: Parts): void {
  const { addresses } = rendering
  app.get<WithQuery>(
    '/user/orgs',
    { config: { forAnyToken: true }, schema: docs['orgs/list-for-authenticated-user'] },
    async (request, reply) => {
      const all = await organizationsOf(db, requireViewer(request))
      return sendPageOf(request, reply, addresses, all, (each) =>
        organizationJson(each.account, addresses),
      )
    },
  )

  app.get<WithQuery>(
    '/user/memberships/orgs',
    {
      config: { forAnyToken: true },
      schema: docs['orgs/list-memberships-for-authenticated-user'],
    },
    async (request, reply) => {
      const viewer = requireViewer(request)
      const all = request.query.state === 'pending' ? [] : await organizationsOf(db, viewer)
      return sendPageOf(request, reply, addresses, all, (each) =>
        membershipJson(each, viewer.account, addresses),
      )
    },
  )
}
