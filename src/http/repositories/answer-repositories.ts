import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RepositoryFacts } from '../../repositories/facts.ts'
import type { CloneTokenOf } from '../clones/clone-tokens.ts'
import { answerCompleted, type EtagParts } from '../door/json-answer.ts'
import { holesIn, pushWithTokens } from './clone-token-holes.ts'

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
  return answerCompleted(request, reply, { body, complete, alsoMadeFrom })
}
