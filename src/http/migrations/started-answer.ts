import type { FastifyReply } from 'fastify'
import { batchesOf } from '../../ground/batches.ts'
import type { Migration } from '../../migrations/migration.ts'
import type { RepositoryFacts } from '../../repositories/facts.ts'
import { answerText } from '../door/json-answer.ts'
import type { Rendering } from './github-json.ts'
import { migrationText } from './migration-text.ts'

const RENDERED_AT_ONCE = 50

/** A migration that has just come to be: where it is, and what it is. */
export function answerStarted(
  reply: FastifyReply,
  started: Migration,
  shown: readonly RepositoryFacts[],
  rendering: Rendering,
): Promise<FastifyReply> {
  reply.code(201).header('location', `${rendering.addresses.api}/user/migrations/${started.id}`)
  return answerText(reply, {
    repositoryCount: shown.length,
    text: () => migrationText(started, batchesOf(shown, RENDERED_AT_ONCE), rendering),
  })
}
