import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Account } from '../../../accounts/account.ts'
import {
  countAdministered,
  listAdministered,
  type RepositoryFilter,
  type RepositoryOrder,
} from '../../../repositories/administered-repositories.ts'
import type { RepositoryFacts } from '../../../repositories/facts.ts'
import { factsForViewer } from '../../../repositories/facts-for-viewer.ts'
import { requireViewer } from '../../middleware/authenticate.ts'
import { type EtagParts, sendJsonWithEtag } from '../../middleware/json-response.ts'
import { parsePaging, setLinkHeader } from '../../middleware/pagination.ts'
import type { ServerParts } from '../../server-parts.ts'
import type { CloneTokenOf } from '../clones/clone-tokens.ts'
import { findTokenPlaceholders, pushWithTokens } from './rendered-repositories.ts'
import { extendedRepositoryJson } from './repository-json.ts'

interface RepositoriesAnswer {
  /** JSON that contains repositories in their extended form. */
  body: unknown
  /** The repositories in the body, in the order of the body. */
  repositories: readonly RepositoryFacts[]
  tokenOf: CloneTokenOf | undefined
  extraEtagParts?: EtagParts
}

/** Sends repositories with clone tokens, which are not part of the ETag. */
export function answerRepositories(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, repositories, tokenOf, extraEtagParts = [] }: RepositoriesAnswer,
): FastifyReply {
  const complete = (json: Buffer) => {
    if (!tokenOf) return json
    const pieces: Buffer[] = []
    const placeholders = findTokenPlaceholders(json, 'extended', repositories)
    pushWithTokens(pieces, json, placeholders, tokenOf)
    return Buffer.concat(pieces)
  }
  return sendJsonWithEtag(request, reply, body, { complete, extraEtagParts })
}

interface RepositoryList {
  /** The account that owns or administers the repositories. */
  of: { account: Account }
  /** The account whose permissions are shown. */
  seenBy: { account: Account }
  filter: RepositoryFilter
  order: RepositoryOrder
}

/** Sends one page of the repositories that an account owns or administers. */
export async function answerRepositoryList(
  { db, rendering, cloneTokens }: Pick<ServerParts, 'db' | 'rendering' | 'cloneTokens'>,
  request: FastifyRequest<{ Querystring: Record<string, unknown> }>,
  reply: FastifyReply,
  { of, seenBy, filter, order }: RepositoryList,
): Promise<FastifyReply> {
  const { addresses } = rendering
  const paging = parsePaging(request.query)
  const total = await countAdministered(db, of, filter)
  const entries = await listAdministered(db, of, filter, { ...paging, order })
  setLinkHeader(request, reply, { addresses, paging, total })
  reply.header('x-total-count', total)
  const repositories = await factsForViewer(db, seenBy, entries)
  return answerRepositories(request, reply, {
    body: repositories.map((each) => extendedRepositoryJson(each, addresses)),
    repositories,
    tokenOf: cloneTokens.for(requireViewer(request)),
    extraEtagParts: [total],
  })
}
