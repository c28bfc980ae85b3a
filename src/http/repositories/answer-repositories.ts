import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RepositoryFacts } from '../../repositories/facts.ts'
import type { CloneTokenOf } from '../clones/clone-tokens.ts'
import { answerCompleted, type EtagParts } from '../door/json-answer.ts'
import { holesIn, withTokens } from './clone-token-holes.ts'

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
    const holes = tokenOf ? holesIn(json, 'extended', shown) : []
    return tokenOf && holes.length > 0 ? Buffer.concat(withTokens(json, holes, tokenOf)) : json
  }
  return answerCompleted(request, reply, { body, complete, alsoMadeFrom })
}
