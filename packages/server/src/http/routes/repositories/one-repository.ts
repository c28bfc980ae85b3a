import { boolean, enumOf } from '@godwit/contract/schemas/schema'
import type * as wire from '@godwit/contract/schemas/types'
import type { Permission } from '@godwit/hosts/source'
import { isName } from '@godwit/lib/names'
import { NotFound } from '@godwit/lib/request-errors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { nameKey } from '../../../accounts/account.ts'
import type { Db } from '../../../db/database.ts'
import {
  collaboratorsOf,
  includesPermission,
  type ListedCollaborator,
} from '../../../repositories/permission-store.ts'
import { findFailedCheck } from '../../../repositories/repository-check-store.ts'
import {
  fullNameOf,
  permissionsOf,
  type RepositoryMetadata,
} from '../../../repositories/repository-metadata.ts'
import {
  findVisibleAccount,
  findVisibleRepository,
  metadataForViewer,
  type VisibleRepository,
} from '../../../repositories/visible-repository.ts'
import { insertTokens, tokenPlaceholder } from '../../credentials/clone-tokens.ts'
import * as openapi from '../../description/operation.ts'
import { HttpError } from '../../middleware/http-errors.ts'
import { sendJsonWithEtag } from '../../middleware/json-response.ts'
import { parsePaging, sendPage, sendPageOf, setLinkHeader } from '../../middleware/pagination.ts'
import { callerKey, requireFound, requireId, type WithQuery } from '../../middleware/request.ts'
import { watchClient } from '../../middleware/response-stream.ts'
import * as render from '../../rendering/repository-json.ts'
import type { ApiDependencies } from '../../server-dependencies.ts'
import type { SourceReader } from './source-reader.ts'

type InPath = WithQuery & { Params: { owner: string; repo: string } }

const path = '/repos/:owner/:repo'

const READ_ACCESS =
  'Public repositories need no token. The response is 404 if the caller may not read the repository.'
const NEEDS_SOURCE = 'Also 404 if the server has no access to the git repositories.'

const pushAccessMissing = () =>
  new HttpError(403, 'Must have push access to view repository collaborators.')

const routes = openapi.routes('Repositories', { config: { anonymous: true } })({
  'repos/get': {
    summary: 'Get a repository',
    description: READ_ACCESS,
    responses: openapi.recordResponses('The repository in its current state.', 'full-repository'),
  },
  'repos/get-by-id': {
    summary: 'Get a repository by ID',
    description: READ_ACCESS,
    responses: openapi.recordResponses('The repository in its current state.', 'full-repository'),
  },
  'repos/list-branches': {
    summary: 'List the branches of a repository',
    description: `Sorted by name. ${READ_ACCESS} ${NEEDS_SOURCE}`,
    query: {
      protected: boolean.describe(
        `Only protected branches, or only unprotected ones. ${openapi.INVALID_IGNORED}`,
      ),
    },
    responses: openapi.pageResponses('branch', 'branches', 'x-total-count'),
  },
  'repos/list-tags': {
    summary: 'List the tags of a repository',
    description: `The newest version first. ${READ_ACCESS} ${NEEDS_SOURCE}`,
    responses: openapi.pageResponses('tag', 'tags', 'x-total-count'),
  },
  'repos/get-all-topics': {
    summary: 'List the topics of a repository',
    description: READ_ACCESS,
    responses: {
      200: openapi.recordResponse('One page of the topics.', 'topics', 'etag', 'link'),
      304: openapi.notModified,
    },
  },
  'repos/list-languages': {
    summary: 'List the languages of a repository',
    description: `Determined by the file names of the default branch. ${READ_ACCESS} ${NEEDS_SOURCE}`,
    responses: openapi.recordResponses('Bytes by language.', 'languages'),
  },
  'licenses/get-for-repo': {
    summary: 'Get the licence file of a repository',
    description: `404 if the default branch has no licence file. ${READ_ACCESS} ${NEEDS_SOURCE}`,
    responses: openapi.recordResponses('The file.', 'license-content'),
  },
  'repos/list-collaborators': {
    config: { forAnyToken: true },
    summary: 'List the collaborators of a repository',
    description:
      'The owner, the owners of the organization, and the collaborators in the config of the repository or on the forge, if they have an account here. 403 for callers who may not push.',
    query: {
      affiliation: enumOf(['outside', 'direct', 'all'], 'all').describe(
        `\`outside\`: not members of the organization. \`direct\`: added to this repository. ${openapi.INVALID_IGNORED}`,
      ),
      permission: enumOf(['pull', 'triage', 'push', 'maintain', 'admin']).describe(
        `Only collaborators with this permission. ${openapi.INVALID_IGNORED}`,
      ),
    },
    responses: openapi.pageResponses('collaborator', 'collaborators'),
  },
  'repos/check-collaborator': {
    config: { forAnyToken: true },
    summary: 'Check whether somebody is a collaborator of a repository',
    description: '403 for callers who may not push.',
    responses: { 204: openapi.YES },
  },
  'repos/get-collaborator-permission-level': {
    config: { forAnyToken: true },
    summary: 'Get what somebody may do with a repository',
    description:
      '`none` for accounts that are no collaborators, or `read` if the repository is public. 403 for callers who may not push.',
    responses: openapi.recordResponses('The permission.', 'collaborator-permission'),
  },
})

/** Adds the operations on one repository. Its metadata is in the database; refs and files are read from the source. */
export function addRepositoryRoutes(
  app: FastifyInstance,
  dependencies: ApiDependencies & { sourceReader: SourceReader },
): void {
  const { db, cloneTokens, sourceReader: reader } = dependencies
  const { addresses } = dependencies.rendering

  async function sendRepository(reply: FastifyReply, visible: VisibleRepository) {
    const { request } = reply
    const { viewer } = request
    const metadata = await metadataOf(db, visible)
    const origins = await forkOriginsOf(db, request, visible)
    const problem = visible.entry.problem ?? (await findFailedCheck(db, fullNameOf(metadata)))
    const context = { ...addresses, tokenOf: tokenPlaceholder }
    const body = render.fullRepositoryJson(metadata, { ...origins, problem }, context)
    const tokenOf = viewer ? cloneTokens.for(viewer) : undefined
    const insertCredentials = (json: string) => insertTokens(json, tokenOf)
    return sendJsonWithEtag(reply, body, { insertCredentials })
  }

  app.get<InPath>(path, routes['repos/get'], async (request, reply) =>
    sendRepository(reply, await repositoryInPath(db, request)),
  )

  type ById = { Params: { repository_id: string } }
  const byId = routes['repos/get-by-id']
  app.get<ById>('/repositories/:repository_id', byId, async ({ params, viewer }, reply) => {
    const of = { id: requireId(params.repository_id) }
    return sendRepository(reply, requireFound(await findVisibleRepository(db, viewer, of)))
  })

  app.get<InPath>(`${path}/branches`, routes['repos/list-branches'], async (request, reply) => {
    const { entry } = await repositoryInPath(db, request)
    const { defaultBranch } = entry.metadata
    const { protected: wanted } = request.query
    // Only the default branch can be protected.
    const isDefaultProtected = render.isProtected(entry, defaultBranch)
    if (wanted === 'true' && !isDefaultProtected)
      return sendPage(reply, addresses, { total: 0, body: [] })
    const { total, refs } = await reader.refs(clientOf(reply), entry, {
      kind: 'branches',
      ...parsePaging(request.query),
      ...(wanted === 'true' && { only: defaultBranch }),
      ...(wanted === 'false' && isDefaultProtected && { except: defaultBranch }),
    })
    const body = refs.map((ref) => render.branchJson(entry, ref, addresses))
    return sendPage(reply, addresses, { total, body })
  })

  app.get<InPath>(`${path}/tags`, routes['repos/list-tags'], async (request, reply) => {
    const { entry } = await repositoryInPath(db, request)
    const query = { kind: 'tags', ...parsePaging(request.query) } as const
    const { total, refs } = await reader.refs(clientOf(reply), entry, query)
    const body = refs.map((ref) => render.tagJson(entry, ref, addresses))
    return sendPage(reply, addresses, { total, body })
  })

  app.get<InPath>(`${path}/topics`, routes['repos/get-all-topics'], async (request, reply) => {
    const { entry } = await repositoryInPath(db, request)
    const all = entry.metadata.topics
    const { offset, limit } = setLinkHeader(reply, addresses, all.length)
    const body: wire.Topics = { names: all.slice(offset, offset + limit) }
    return sendJsonWithEtag(reply, body, { extraEtagParts: [all.length] })
  })

  app.get<InPath>(`${path}/languages`, routes['repos/list-languages'], async (request, reply) => {
    const { entry } = await repositoryInPath(db, request)
    return sendJsonWithEtag(reply, await reader.languages(clientOf(reply), entry))
  })

  app.get<InPath>(`${path}/license`, routes['licenses/get-for-repo'], async (request, reply) => {
    const { entry } = await repositoryInPath(db, request)
    const file = requireFound(await reader.licenseFile(clientOf(reply), entry))
    return sendJsonWithEtag(reply, render.licenseContentJson(entry, file, addresses))
  })

  const collaborators = routes['repos/list-collaborators']
  app.get<InPath>(`${path}/collaborators`, collaborators, async (request, reply) => {
    const { all } = await collaboratorsInPath(request)
    const listed = all.filter(collaboratorFilter(request.query))
    return sendPageOf(reply, addresses, listed, (each) => render.collaboratorJson(each, addresses))
  })

  async function collaboratorsInPath(request: FastifyRequest<InPath>) {
    const { entry, role } = await repositoryInPath(db, request)
    if (!permissionsOf(role, entry.metadata).push) throw pushAccessMissing()
    return { entry, all: await collaboratorsOf(db, entry) }
  }

  type OfUser = InPath & { Params: { username: string } }
  const isNamed = ({ username }: OfUser['Params']) => {
    const key = nameKey(username)
    return ({ account }: ListedCollaborator) => nameKey(account.login) === key
  }
  const collaborator = `${path}/collaborators/:username`

  const check = routes['repos/check-collaborator']
  app.get<OfUser>(collaborator, check, async (request, reply) => {
    requireFound((await collaboratorsInPath(request)).all.find(isNamed(request.params)))
    return reply.code(204).send()
  })

  const permission = routes['repos/get-collaborator-permission-level']
  app.get<OfUser>(`${collaborator}/permission`, permission, async (request, reply) => {
    const { params, viewer } = request
    const { entry, all } = await collaboratorsInPath(request)
    const found = all.find(isNamed(params)) ?? {
      account: requireFound(await findVisibleAccount(db, viewer, { login: params.username })),
      permission: entry.metadata.private ? ('none' as const) : ('read' as const),
    }
    if (found.account.type !== 'User') throw new NotFound()
    return sendJsonWithEtag(reply, render.collaboratorPermissionJson(found, addresses))
  })
}

const clientOf = ({ request, raw }: FastifyReply) => ({
  caller: callerKey(request),
  signal: watchClient(raw).signal,
})

/** Returns the repository that the path names; throws 404 if the caller may not read it. */
async function repositoryInPath(db: Db, { params, viewer }: FastifyRequest<InPath>) {
  const { owner, repo } = params
  if (!isName(owner) || !isName(repo)) throw new NotFound()
  return requireFound(await findVisibleRepository(db, viewer, { owner, name: repo }))
}

async function metadataOf(db: Db, { entry, as }: VisibleRepository): Promise<RepositoryMetadata> {
  const [metadata] = await metadataForViewer(db, as, [entry])
  return metadata!
}

/** Forks may refer to each other in a cycle. */
const MAX_FORK_DEPTH = 10

/** Follows the chain of forks up to the first repository that the viewer may not read. */
async function forkOriginsOf(db: Db, { viewer }: FastifyRequest, { entry }: VisibleRepository) {
  const origins: VisibleRepository[] = []
  let { forkOf } = entry.metadata
  while (forkOf !== null && origins.length < MAX_FORK_DEPTH) {
    const [owner = '', name = ''] = forkOf.split('/')
    const origin = await findVisibleRepository(db, viewer, { owner, name })
    if (!origin || origin.entry.id === entry.id) break
    origins.push(origin)
    forkOf = origin.entry.metadata.forkOf
  }
  const [parent] = origins
  const source = origins.at(-1)
  if (!parent || !source) return {}
  return { parent: await metadataOf(db, parent), source: await metadataOf(db, source) }
}

const PERMISSIONS = new Map<unknown, Permission>([
  ['pull', 'read'],
  ['triage', 'triage'],
  ['push', 'write'],
  ['maintain', 'maintain'],
  ['admin', 'admin'],
])

function collaboratorFilter({ affiliation, permission }: Record<string, unknown>) {
  const minimum = PERMISSIONS.get(permission) ?? 'read'
  return (each: ListedCollaborator): boolean =>
    includesPermission(each.permission, minimum) &&
    (affiliation !== 'outside' || !each.isInside) &&
    (affiliation !== 'direct' || each.isDirect)
}
