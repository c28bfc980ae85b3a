import { text } from '../description/json-schema.ts'
import { json, type Operation, one, parameter, several } from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'
import { listUserRepositories } from '../repositories/user-repositories-operations.ts'

const WHO =
  'Only for members of the organization and for site admins; for all others it does not exist.'
const paged = [parameter('per-page'), parameter('page'), parameter('if-none-match')]
const listHeaders = ['etag' as const, 'link' as const]

export const getOrganization = {
  operationId: 'orgs/get',
  tags: ['Organizations'],
  summary: 'Get an organization',
  description: WHO,
  parameters: [parameter('org'), parameter('if-none-match')],
  responses: {
    200: json('The organization.', {
      schema: one('full-organization'),
      example: 'full-organization',
      headers: ['etag'],
    }),
    304: refusal('not-modified'),
    404: refusal('not-found'),
  },
} satisfies Operation

export const getNumberedOrganization = {
  ...getOrganization,
  operationId: 'orgs/get-by-id',
  summary: 'Get an organization by ID',
  parameters: [parameter('organization-id'), parameter('if-none-match')],
} satisfies Operation

export const listMembers = {
  operationId: 'orgs/list-members',
  tags: ['Organizations'],
  summary: 'List the members of an organization',
  description: WHO,
  parameters: [
    parameter('org'),
    {
      name: 'role',
      in: 'query',
      description: 'Only members with this role; `admin` for owners. Other values are ignored.',
      schema: { ...text, enum: ['all', 'admin', 'member'], default: 'all' },
    },
    ...paged,
  ],
  responses: {
    200: json('One page of the list.', {
      schema: several('user'),
      example: 'users',
      headers: listHeaders,
    }),
    304: refusal('not-modified'),
    404: refusal('not-found'),
  },
} satisfies Operation

const notAsked = ['affiliation', 'visibility', 'type', 'sort']

const inQuery = (name: string, values: string[]) => ({
  name,
  in: 'query',
  schema: { ...text, enum: values, default: values[0] },
})

export const listOrganizationRepositories = {
  ...listUserRepositories,
  operationId: 'repos/list-for-org',
  tags: ['Organizations'],
  summary: 'List the repositories of an organization',
  description: `All of them for owners and site admins; for other members those that they may read. ${WHO}`,
  parameters: [
    parameter('org'),
    inQuery('type', ['all', 'public', 'private', 'forks', 'sources', 'member']),
    inQuery('sort', ['created', 'updated', 'pushed', 'full_name']),
    ...listUserRepositories.parameters.filter(
      (each) => !('name' in each && notAsked.includes(each.name)),
    ),
  ],
  responses: { ...listUserRepositories.responses, 404: refusal('not-found') },
} satisfies Operation

export const listOwnOrganizations = {
  operationId: 'orgs/list-for-authenticated-user',
  tags: ['Organizations'],
  summary: 'List the organizations of the caller',
  parameters: paged,
  responses: {
    200: json('One page of the list.', {
      schema: several('organization'),
      example: 'organizations',
      headers: listHeaders,
    }),
    304: refusal('not-modified'),
  },
} satisfies Operation

export const listOwnMemberships = {
  operationId: 'orgs/list-memberships-for-authenticated-user',
  tags: ['Organizations'],
  summary: 'List the memberships of the caller',
  parameters: [
    {
      name: 'state',
      in: 'query',
      description: 'Every membership is `active`. Other values are ignored.',
      schema: { ...text, enum: ['active', 'pending'] },
    },
    ...paged,
  ],
  responses: {
    200: json('One page of the list.', {
      schema: several('organization-membership'),
      example: 'organization-memberships',
      headers: listHeaders,
    }),
    304: refusal('not-modified'),
  },
} satisfies Operation
