import type { FastifyInstance } from 'fastify'
import type { Dependency } from '../middleware/dependencies.ts'
import { getHealth, getReadiness } from './service-operations.ts'

/**
 * For load balancers: alive at all, and able to do its work. A process that can read but not write stays ready, since without it
 * nobody could download an archive or delete one to make room; its answer says that it is degraded.
 */
export function health(app: FastifyInstance, dependencies: readonly Dependency[]): void {
  app.get('/healthz', { schema: getHealth }, async () => ({ status: 'ok' }))
  app.get('/readyz', { schema: getReadiness }, async (_request, reply) => {
    const answers = await Promise.all(dependencies.map(({ isAvailable: isThere }) => isThere()))
    const missing = dependencies.filter((_, at) => !answers[at])
    if (missing.length === 0) return { status: 'ok' }
    const waitingFor = missing.map(({ name }) => name)
    if (missing.every(({ isForWritesOnly }) => isForWritesOnly))
      return { status: 'degraded', waiting_for: waitingFor }
    return reply.code(503).send({ status: 'unavailable', waiting_for: waitingFor })
  })
}
