import { enumOf } from '../../../wire/schema.ts'
import type { Operation } from '../../description/operation.ts'
import { IF_NONE_MATCH, inQuery, PAGED, parameter } from '../../description/parameters.ts'
import { current, notFound, page } from '../../description/usual-answers.ts'
import { listUserRepositories } from '../repositories/user-repositories-operations.ts'

const WHO =
  'Only for members of the organization and for site admins; for all others it does not exist.'

export const getOrganization = {
  operationId: 'orgs/get',
  tags: ['Organizations'],
  summary: 'Get an organization',
  description: WHO,
  parameters: [parameter('org'), IF_NONE_MATCH],
  responses: { ...current('The organization.', 'full-organization'), 404: notFound },
} satisfies Operation

export const getNumberedOrganization = {
  ...getOrganization,
  operationId: 'orgs/get-by-id',
  summary: 'Get an organization by ID',
  parameters: [parameter('organization-id'), IF_NONE_MATCH],
} satisfies Operation

export const listMembers = {
  operationId: 'orgs/list-members',
  tags: ['Organizations'],
  summary: 'List the members of an organization',
  description: WHO,
  parameters: [
    parameter('org'),
    inQuery(
      'role',
      enumOf(['all', 'admin', 'member'], 'all'),
      'Only members with this role; `admin` for owners. Other values are ignored.',
    ),
    ...PAGED,
  ],
  responses: { ...page('user', 'users'), 404: notFound },
} satisfies Operation

const notAsked = ['affiliation', 'visibility', 'type', 'sort']

export const listOrganizationRepositories = {
  ...listUserRepositories,
  operationId: 'repos/list-for-org',
  tags: ['Organizations'],
  summary: 'List the repositories of an organization',
  description: `All of them for owners and site admins; for other members those that they may read. ${WHO}`,
  parameters: [
    parameter('org'),
    inQuery('type', enumOf(['all', 'public', 'private', 'forks', 'sources', 'member'], 'all')),
    inQuery('sort', enumOf(['created', 'updated', 'pushed', 'full_name'], 'created')),
    ...listUserRepositories.parameters.filter(
      (each) => !('name' in each && notAsked.includes(each.name)),
    ),
  ],
  responses: { ...listUserRepositories.responses, 404: notFound },
} satisfies Operation

export const listOwnOrganizations = {
  operationId: 'orgs/list-for-authenticated-user',
  tags: ['Organizations'],
  summary: 'List the organizations of the caller',
  parameters: PAGED,
  responses: page('organization', 'organizations'),
} satisfies Operation

export const listOwnMemberships = {
  operationId: 'orgs/list-memberships-for-authenticated-user',
  tags: ['Organizations'],
  summary: 'List the memberships of the caller',
  parameters: [
    inQuery(
      'state',
      enumOf(['active', 'pending']),
      'Every membership is `active`. Other values are ignored.',
    ),
    ...PAGED,
  ],
  responses: page('organization-membership', 'organization-memberships'),
} satisfies Operation
