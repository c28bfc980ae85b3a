import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { string } from '../../wire/schema.ts'
import type { Operation } from '../description/operation.ts'
import { AnswerCounts } from './answer-counts.ts'
import { type Dependency, inTime } from './dependencies.ts'
import type { RegisterParts } from './metrics-register.ts'
import type { NoteAnswered } from './request-log.ts'

export interface MetricsParts extends Omit<RegisterParts, 'answers' | 'dependencies'> {
  log: Logger
}

const getMetrics = {
  operationId: 'service/metrics',
  tags: ['Service'],
  summary: 'Get metrics for Prometheus',
  security: [],
  responses: {
    200: {
      description: 'Metrics in the text format of Prometheus.',
      content: { 'text/plain': { schema: string } },
    },
  },
} satisfies Operation

/**
 * `GET /metrics` for Prometheus. What is shared by all processes is read from the database when it is asked for; what this
 * one answers is counted by what is returned.
 */
export function metrics(
  app: FastifyInstance,
  parts: MetricsParts,
  dependencies: readonly Dependency[],
): NoteAnswered {
  const answers = new AnswerCounts()
  /** Loaded when it is first asked for, since many processes never are; the garbage collector is watched from then on. */
  const open = async () => {
    const { openRegister } = await import('./metrics-register.ts')
    return openRegister({ ...parts, answers, dependencies })
  }
  let opened: ReturnType<typeof open> | undefined
  app.get('/metrics', { schema: getMetrics }, async (_request, reply) => {
    opened ??= open()
    const { register, readShared } = await opened
    // Without its database a process still tells of itself.
    await inTime(readShared()).catch((err: unknown) =>
      parts.log.warn({ err }, 'could not read the shared metrics'),
    )
    return reply.type(register.contentType).send(await register.metrics())
  })
  return (answered) => answers.note(answered)
}
