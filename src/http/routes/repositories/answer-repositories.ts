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
import { viewerOf } from '../../middleware/authenticate.ts'
import { answerIfChanged, type EtagParts } from '../../middleware/json-answer.ts'
import { setLinkHeader } from '../../middleware/link-header.ts'
import { pagingOf } from '../../middleware/paging.ts'
import type { ServerParts } from '../../server-parts.ts'
import type { CloneTokenOf } from '../clones/clone-tokens.ts'
import { holesIn, pushWithTokens } from './clone-token-holes.ts'
import { extendedRepositoryJson } from './repository-json.ts'

interface AnsweredRepositories {
  /** Repositories in their extended form, whatever is around them. */
  body: unknown
  /** The same, in that order. */
  shown: readonly RepositoryFacts[]
  tokenOf: CloneTokenOf | undefined
  alsoMadeFrom?: EtagParts
}

/** As the catalogue has them now, each with a token to clone it with where it is private. */
export function answerRepositories(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, shown, tokenOf, alsoMadeFrom = [] }: AnsweredRepositories,
): FastifyReply {
  const complete = (json: Buffer) => {
    if (!tokenOf) return json
    const pieces: Buffer[] = []
    pushWithTokens(pieces, json, holesIn(json, 'extended', shown), tokenOf)
    return Buffer.concat(pieces)
  }
  return answerIfChanged(request, reply, body, { complete, alsoMadeFrom })
}

type ListParts = Pick<ServerParts, 'db' | 'rendering' | 'cloneTokens'>
type Asked = FastifyRequest<{ Querystring: Record<string, unknown> }>

interface AskedList {
  /** Who owns or administers them. */
  of: { account: Account }
  /** Whose rights are shown. */
  seenBy: { account: Account }
  filter: RepositoryFilter
  order: RepositoryOrder
}

/** One page of those that somebody owns or administers. */
export function repositoryLists({ db, rendering, cloneTokens }: ListParts) {
  const { addresses } = rendering
  return async (request: Asked, reply: FastifyReply, { of, seenBy, filter, order }: AskedList) => {
    const paging = pagingOf(request.query)
    const total = await countAdministered(db, of, filter)
    const entries = await listAdministered(db, of, filter, { ...paging, order })
    setLinkHeader(request, reply, { addresses, paging, total })
    reply.header('x-total-count', total)
    const facts = await factsForViewer(db, seenBy, entries)
    return answerRepositories(request, reply, {
      body: facts.map((each) => extendedRepositoryJson(each, addresses)),
      shown: facts,
      tokenOf: cloneTokens.for(viewerOf(request)),
      alsoMadeFrom: [total],
    })
  }
}
