import type { FastifyInstance } from 'fastify'
import { isComposing } from '../../blobs/blob-store.ts'
import { countArchives } from '../../migrations/archive-store.ts'
import { Invalid, NotFound } from '../../migrations/refusals.ts'
import { countSegments } from '../../migrations/segment-store.ts'
import { readServiceState } from '../../migrations/service-state.ts'
import { type ThroughputPeriod, throughputPeriods } from '../../migrations/throughput.ts'
import { leastFreeBytes } from '../../queue/worker-store.ts'
import { viewerOf } from '../door/authenticate.ts'
import { answer, answerNotModified } from '../door/json-answer.ts'
import type { ServerParts } from '../server-parts.ts'
import { getServiceState } from './admin-service-operations.ts'
import { type Storage, serviceStateJson } from './service-state-json.ts'

/** The whole service at a glance, for its operator. To everyone else there is nothing here. */
export function adminService(app: FastifyInstance, parts: ServerParts): void {
  const { db, blobs, now, version } = parts

  async function readStorage(): Promise<Storage> {
    const [segments, archives, freeBytes] = await Promise.all([
      countSegments(db),
      countArchives(db),
      isComposing(blobs) ? null : leastFreeBytes(db, now()),
    ])
    return { segments, archives, freeBytes }
  }

  app.get<{ Querystring: Record<string, unknown> }>(
    '/admin/service',
    { schema: getServiceState },
    async (request, reply) => {
      if (!viewerOf(request).account.siteAdmin) throw new NotFound()
      const period = periodOf(request.query.period)
      const [state, storage] = await Promise.all([readServiceState(parts, period), readStorage()])
      const body = serviceStateJson(state, storage, version)
      // What always changes is not worth an answer of its own.
      const lasting = { ...body, observed_at: '', storage: { ...body.storage, free_bytes: 0 } }
      if (answerNotModified(request, reply, [JSON.stringify(lasting)])) return reply
      return answer(reply, body)
    },
  )
}

function periodOf(sent: unknown): ThroughputPeriod {
  const period = throughputPeriods.find((each) => each === (sent ?? 'hour'))
  if (!period) throw new Invalid([{ resource: 'Service', field: 'period', code: 'invalid' }])
  return period
}
