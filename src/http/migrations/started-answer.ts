import type { FastifyReply } from 'fastify'
import { batchesOf } from '../../ground/batches.ts'
import type { StartedMigration } from '../../migrations/migration.ts'
import { answerText } from '../door/json-answer.ts'
import type { RenderedRepositories } from '../repositories/rendered-repositories.ts'
import type { Rendering } from './github-json.ts'
import { migrationText } from './migration-text.ts'

const RENDERED_AT_ONCE = 50

/** A migration that has just come to be: where it is, and what it is. */
export function answerStarted(
  reply: FastifyReply,
  started: StartedMigration,
  { rendering, rendered, isBrief }: StartedAnswer,
): Promise<FastifyReply> {
  reply.code(201).header('location', `${rendering.addresses.api}/user/migrations/${started.id}`)
  const { repositories, references } = started
  const shown = isBrief
    ? []
    : references.map((reference, at) => [reference, repositories[at]!] as const)
  function* renderedBatches() {
    for (const batch of batchesOf(shown, RENDERED_AT_ONCE)) {
      yield batch.map(([reference, facts]) => rendered.render('extended', reference, facts))
    }
  }
  return answerText(reply, {
    repositoryCount: shown.length,
    text: () => migrationText(started, renderedBatches(), rendering),
  })
}

interface StartedAnswer {
  rendering: Rendering
  rendered: RenderedRepositories
  /** Without its repositories. */
  isBrief: boolean
}
