import type { FastifyReply } from 'fastify'
import { batchesOf } from '../../../lib/batches.ts'
import { nextTurn } from '../../../lib/turns.ts'
import type { StartedMigration } from '../../../migrations/migration.ts'
import type { HeavyRequests } from '../../middleware/heavy-requests.ts'
import { answerText } from '../../middleware/json-answer.ts'
import type { Rendering } from '../../rendering.ts'
import type { CloneTokenOf } from '../clones/clone-tokens.ts'
import {
  RENDERED_AT_ONCE,
  type RenderedRepositories,
} from '../repositories/rendered-repositories.ts'
import { migrationsAddress } from './migration-json.ts'
import type { MigrationText } from './migration-text.ts'

/** A migration that has just come to be: where it is, and what it is. */
export function answerStarted(
  reply: FastifyReply,
  started: StartedMigration,
  { rendering, rendered, text, largeAnswers: large, tokenOf, isBrief }: StartedAnswer,
): Promise<FastifyReply> {
  const all = migrationsAddress(started.owner, rendering.addresses)
  reply.code(201).header('location', `${all}/${started.id}`)
  const { repositories, references } = started
  const shown = references.map((reference, at) => [reference, repositories[at]!] as const)
  async function* inBatches() {
    for (const batch of batchesOf(shown, RENDERED_AT_ONCE)) {
      await nextTurn()
      yield batch.flatMap(([reference, facts]) =>
        rendered.render({ form: 'extended', tokenOf }, reference, facts),
      )
    }
  }
  const listed = { inBatches, whole: async () => (await Array.fromAsync(inBatches())).flat() }
  return answerText(reply, {
    large,
    repositoryCount: isBrief ? 0 : shown.length,
    body: () => text(started, isBrief ? undefined : listed),
  })
}

interface StartedAnswer {
  rendering: Rendering
  rendered: RenderedRepositories
  text: MigrationText
  largeAnswers: HeavyRequests
  tokenOf: CloneTokenOf | undefined
  /** Without its repositories. */
  isBrief: boolean
}
