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
import { repositoryQueryOf, searchNamesOnly, sorts } from '../repositories/repository-query.ts'
import {
  listUserRepositories,
  searchInNames,
  sendRepositoryList,
} from '../repositories/user-repositories.ts'
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

const getOperation = {
  operationId: 'orgs/get',
  tags: ['Organizations'],
  summary: 'Get an organization',
  description: MEMBERS_ONLY,
  parameters: [openapi.parameter('org'), openapi.IF_NONE_MATCH],
  responses: {
    ...openapi.recordResponses('The organization.', 'full-organization'),
    404: openapi.notFound,
  },
} satisfies openapi.Operation

const getByIdOperation = {
  ...getOperation,
  operationId: 'orgs/get-by-id',
  summary: 'Get an organization by ID',
  parameters: [openapi.parameter('organization-id'), openapi.IF_NONE_MATCH],
} satisfies openapi.Operation

function addOrganization(app: FastifyInstance, { db, rendering }: Parts): void {
  for (const [path, schema] of [
    ['/orgs/:org', getOperation],
    ['/organizations/:organization_id', getByIdOperation],
  ] as const) {
    app.get(path, { schema }, async (request, reply) => {
      const { account } = await organizationInPath(db, request)
      const publicCount = await countPublic(db, account)
      const body = fullOrganizationJson(account, publicCount, rendering.addresses)
      return sendJsonWithEtag(request, reply, body)
    })
  }
}

/** Parameters of the caller's list of repositories that this list lacks, or has with other values. */
const REPLACED_PARAMETERS = ['q', 'affiliation', 'visibility', 'type', 'sort']

const repositoriesOperation = {
  ...listUserRepositories,
  operationId: 'repos/list-for-org',
  tags: ['Organizations'],
  summary: 'List the repositories of an organization',
  description: `Owners and site admins get all repositories, other members those that they may read. ${MEMBERS_ONLY}`,
  parameters: [
    openapi.parameter('org'),
    searchInNames,
    openapi.inQuery(
      'type',
      enumOf(['all', 'public', 'private', 'forks', 'sources', 'member'], 'all'),
    ),
    openapi.inQuery('sort', enumOf(sorts, 'created')),
    ...listUserRepositories.parameters.filter(
      (each) => !('name' in each && REPLACED_PARAMETERS.includes(each.name)),
    ),
  ],
  responses: { ...listUserRepositories.responses, 404: openapi.notFound },
} satisfies openapi.Operation

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
    { schema: repositoriesOperation },
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

const membersOperation = {
  operationId: 'orgs/list-members',
  tags: ['Organizations'],
  summary: 'List the members of an organization',
  description: MEMBERS_ONLY,
  parameters: [
    openapi.parameter('org'),
    openapi.inQuery(
      'role',
      enumOf(['all', 'admin', 'member'], 'all'),
      'Only members with this role; `admin` for owners. Other values are ignored.',
    ),
    ...openapi.PAGE_PARAMETERS,
  ],
  responses: { ...openapi.pageResponses('user', 'users'), 404: openapi.notFound },
} satisfies openapi.Operation

const ROLES = new Map<unknown, MembershipRole>([
  ['admin', 'owner'],
  ['member', 'member'],
])

function addMembers(app: FastifyInstance, { db, rendering }: Parts): void {
  const { addresses } = rendering
  app.get<WithQuery>('/orgs/:org/members', { schema: membersOperation }, async (request, reply) => {
    const { account } = await organizationInPath(db, request)
    const all = (await membersOf(db, [account])).get(account.id) ?? []
    const role = ROLES.get(request.query.role)
    const members = role ? all.filter((each) => each.role === role) : all
    return sendPageOf(request, reply, addresses, members, (each) =>
      userJson(each.account, addresses),
    )
  })
}

const ownOrganizationsOperation = {
  operationId: 'orgs/list-for-authenticated-user',
  tags: ['Organizations'],
  summary: 'List the organizations of the caller',
  parameters: openapi.PAGE_PARAMETERS,
  responses: openapi.pageResponses('organization', 'organizations'),
} satisfies openapi.Operation

const ownMembershipsOperation = {
  operationId: 'orgs/list-memberships-for-authenticated-user',
  tags: ['Organizations'],
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
} satisfies openapi.Operation

function addCallerOrganizations(app: FastifyInstance, { db, rendering }: Parts): void {
  const { addresses } = rendering
  app.get<WithQuery>(
    '/user/orgs',
    { config: { forAnyToken: true }, schema: ownOrganizationsOperation },
    async (request, reply) => {
      const all = await organizationsOf(db, requireViewer(request))
      return sendPageOf(request, reply, addresses, all, (each) =>
        organizationJson(each.account, addresses),
      )
    },
  )

  app.get<WithQuery>(
    '/user/memberships/orgs',
    { config: { forAnyToken: true }, schema: ownMembershipsOperation },
    async (request, reply) => {
      const viewer = requireViewer(request)
      const all = request.query.state === 'pending' ? [] : await organizationsOf(db, viewer)
      return sendPageOf(request, reply, addresses, all, (each) =>
        membershipJson(each, viewer.account, addresses),
      )
    },
  )
}
