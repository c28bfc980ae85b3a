import { enumOf } from '@godwit/contract/schemas/schema'
import { isName } from '@godwit/lib/names'
import { InvalidRequest, NotFound } from '@godwit/lib/request-errors'
import type { FastifyInstance } from 'fastify'
import type { RepositoryFilter } from '../../../repositories/administered-repositories.ts'
import { findVisibleAccount, viewOf } from '../../../repositories/visible-repository.ts'
import * as openapi from '../../description/operation.ts'
import { requireFound, requireViewer, type WithQuery } from '../../middleware/request.ts'
import { MEMBERS_ONLY, organizationInPath } from '../../scopes/scoped-path.ts'
import type { ServerDependencies } from '../../server-dependencies.ts'
import * as repositoryList from './repository-list.ts'

const routes = openapi.routes('Repositories')({
  'repos/list-for-user': {
    config: { anonymous: true },
    summary: 'List the repositories of a person or an organization',
    description:
      'Those that the caller may read; without a token, the public ones. 404 if the caller may not see the owner.',
    query: {
      ...repositoryList.OWNER_LIST_QUERY,
      visibility: repositoryList.visibility,
      type: enumOf(['all', 'owner'], 'owner').describe('Both values give the same list.'),
    },
    responses: repositoryList.LIST_RESPONSES,
  },
  'repos/list-for-org': {
    tags: ['Organizations'],
    summary: 'List the repositories of an organization',
    description: `Owners and site admins get all repositories, other members those that they may read. ${MEMBERS_ONLY}`,
    query: {
      ...repositoryList.OWNER_LIST_QUERY,
      type: enumOf(['all', 'public', 'private', 'forks', 'sources', 'member'], 'all'),
      sort: enumOf(repositoryList.sorts, 'created'),
    },
    responses: repositoryList.LIST_RESPONSES,
  },
})

const FILTER_OF_TYPE = new Map<unknown, Partial<RepositoryFilter>>([
  ['all', {}],
  ['member', {}],
  ['public', { isPrivate: false }],
  ['private', { isPrivate: true }],
  ['forks', { isFork: true }],
  ['sources', { isFork: false }],
])

type InPath = WithQuery & { Params: { username: string } }

/** Adds the lists of the repositories of one person or organization. */
export function addOwnerRepositoriesRoutes(
  app: FastifyInstance,
  dependencies: ServerDependencies,
): void {
  const { db } = dependencies

  const repositories = routes['repos/list-for-user']
  app.get<InPath>('/users/:username/repos', repositories, async (request, reply) => {
    const { username } = request.params
    if (!isName(username)) throw new NotFound()
    const visible = await findVisibleAccount(db, request.viewer, { login: username })
    const account = requireFound(visible)
    const { type: sent, ...query } = request.query
    const type = repositoryList.lastValue(sent) ?? 'owner'
    if (type !== 'owner' && type !== 'all')
      throw new InvalidRequest([{ resource: 'Repository', field: 'type', code: 'invalid' }])
    const { filter, order } = repositoryList.repositoryQueryOf(query)
    const seenBy = await viewOf(db, request.viewer, account)
    return repositoryList.sendRepositoryList(dependencies, reply, {
      of: { account },
      seenBy,
      filter: {
        ...repositoryList.searchNamesOnly(filter, account.login),
        affiliations: ['owner'],
        readableBy: seenBy.account.id,
      },
      order,
    })
  })

  app.get<WithQuery>('/orgs/:org/repos', routes['repos/list-for-org'], async (request, reply) => {
    const { account, mayMigrate } = await organizationInPath(db, request)
    const viewer = requireViewer(request)
    const { type, ...query } = request.query
    const { filter, order } = repositoryList.repositoryQueryOf({ sort: 'created', ...query })
    const typeFilter = FILTER_OF_TYPE.get(repositoryList.lastValue(type) ?? 'all')
    if (!typeFilter)
      throw new InvalidRequest([{ resource: 'Repository', field: 'type', code: 'invalid' }])
    return repositoryList.sendRepositoryList(dependencies, reply, {
      of: { account },
      seenBy: mayMigrate ? { account } : viewer,
      filter: {
        ...repositoryList.searchNamesOnly(filter, account.login),
        ...typeFilter,
        affiliations: ['owner'],
        readableBy: mayMigrate ? undefined : viewer.account.id,
      },
      order,
    })
  })
}
