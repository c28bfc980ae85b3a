import { enumOf } from '@godwit/contract/schemas/schema'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type MembershipRole, nameKey } from '../../../accounts/account.ts'
import { membersOf, organizationsOf } from '../../../accounts/membership-store.ts'
import { countPublic } from '../../../repositories/repository-store.ts'
import * as openapi from '../../description/operation.ts'
import { sendJsonWithEtag } from '../../middleware/json-response.ts'
import { sendPageOf } from '../../middleware/pagination.ts'
import { requireFound, requireViewer, type WithQuery } from '../../middleware/request.ts'
import {
  fullOrganizationJson,
  membershipJson,
  organizationJson,
} from '../../rendering/organization-json.ts'
import { userJson } from '../../rendering/user-json.ts'
import { MEMBERS_ONLY, organizationInPath } from '../../scopes/scoped-path.ts'
import type { ServerDependencies } from '../../server-dependencies.ts'

const routes = openapi.routes('Organizations')({
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
  'orgs/list-members': {
    summary: 'List the members of an organization',
    description: MEMBERS_ONLY,
    query: {
      role: enumOf(['all', 'admin', 'member'], 'all').describe(
        'Only members with this role; `admin` for owners. Other values are ignored.',
      ),
    },
    responses: openapi.pageResponses('user', 'users'),
  },
  'orgs/check-membership-for-user': {
    summary: 'Check whether somebody is a member of an organization',
    description: MEMBERS_ONLY,
    responses: { 204: openapi.YES },
  },
  'orgs/get-membership-for-user': {
    summary: 'Get the membership of somebody in an organization',
    description: MEMBERS_ONLY,
    responses: openapi.recordResponses('The membership.', 'organization-membership'),
  },
  'orgs/list-for-authenticated-user': {
    config: { forAnyToken: true },
    summary: 'List the organizations of the caller',
    responses: openapi.pageResponses('organization', 'organizations'),
  },
  'orgs/list-memberships-for-authenticated-user': {
    config: { forAnyToken: true },
    summary: 'List the memberships of the caller',
    query: {
      state: enumOf(['active', 'pending']).describe(
        'Every membership is `active`, so the list for `pending` is empty. Other values are ignored.',
      ),
    },
    responses: openapi.pageResponses('organization-membership', 'organization-memberships'),
  },
  'orgs/get-membership-for-authenticated-user': {
    config: { forAnyToken: true },
    summary: 'Get the membership of the caller in an organization',
    description: 'The response is 404 if the caller is not a member.',
    responses: openapi.recordResponses('The membership.', 'organization-membership'),
  },
})

const ROLES = new Map<unknown, MembershipRole>([
  ['admin', 'owner'],
  ['member', 'member'],
])

type OfMember = { Params: { org: string; username: string } }

/** Adds the organizations that the caller may see, and the caller's memberships. */
export function addOrganizationRoutes(
  app: FastifyInstance,
  dependencies: ServerDependencies,
): void {
  const { db } = dependencies
  const { addresses } = dependencies.rendering

  for (const [path, options] of [
    ['/orgs/:org', routes['orgs/get']],
    ['/organizations/:organization_id', routes['orgs/get-by-id']],
  ] as const) {
    app.get(path, options, async (request, reply) => {
      const { account } = await organizationInPath(db, request)
      const body = fullOrganizationJson(account, await countPublic(db, account), addresses)
      return sendJsonWithEtag(reply, body)
    })
  }

  app.get<WithQuery>('/orgs/:org/members', routes['orgs/list-members'], async (request, reply) => {
    const { account } = await organizationInPath(db, request)
    const all = (await membersOf(db, [account])).get(account.id) ?? []
    const role = ROLES.get(request.query.role)
    const found = role ? all.filter((each) => each.role === role) : all
    return sendPageOf(reply, addresses, found, (each) => userJson(each.account, addresses))
  })

  /** Returns the organization that the path names, and the member; throws 404 if that account is none. */
  async function memberInPath(request: FastifyRequest<OfMember>) {
    const { account } = await organizationInPath(db, request)
    const members = (await membersOf(db, [account])).get(account.id) ?? []
    const key = nameKey(request.params.username)
    const member = requireFound(members.find((each) => nameKey(each.account.login) === key))
    return { account, member }
  }

  const check = routes['orgs/check-membership-for-user']
  app.get<OfMember>('/orgs/:org/members/:username', check, async (request, reply) => {
    await memberInPath(request)
    return reply.code(204).send()
  })

  const membership = routes['orgs/get-membership-for-user']
  app.get<OfMember>('/orgs/:org/memberships/:username', membership, async (request, reply) => {
    const { account, member } = await memberInPath(request)
    const body = membershipJson({ account, role: member.role }, member.account, addresses)
    return sendJsonWithEtag(reply, body)
  })

  app.get('/user/orgs', routes['orgs/list-for-authenticated-user'], async (request, reply) => {
    const all = await organizationsOf(db, requireViewer(request))
    return sendPageOf(reply, addresses, all, (each) => organizationJson(each.account, addresses))
  })

  const memberships = routes['orgs/list-memberships-for-authenticated-user']
  app.get<WithQuery>('/user/memberships/orgs', memberships, async (request, reply) => {
    const viewer = requireViewer(request)
    const all = request.query.state === 'pending' ? [] : await organizationsOf(db, viewer)
    return sendPageOf(reply, addresses, all, (each) =>
      membershipJson(each, viewer.account, addresses),
    )
  })

  const ownMembership = routes['orgs/get-membership-for-authenticated-user']
  app.get<{ Params: { org: string } }>(
    '/user/memberships/orgs/:org',
    ownMembership,
    async (request, reply) => {
      const viewer = requireViewer(request)
      const key = nameKey(request.params.org)
      const all = await organizationsOf(db, viewer)
      const found = requireFound(all.find(({ account }) => nameKey(account.login) === key))
      return sendJsonWithEtag(reply, membershipJson(found, viewer.account, addresses))
    },
  )
}
