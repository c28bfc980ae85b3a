import type { FastifyInstance } from 'fastify'
import { isComposing } from '../../../blobs/blob-store.ts'
import { InvalidRequest, NotFound } from '../../../migrations/errors.ts'
import { readServiceState } from '../../../migrations/service-state.ts'
import { storageUse } from '../../../migrations/storage-use.ts'
import { type ThroughputPeriod, throughputPeriods } from '../../../migrations/throughput.ts'
import { allScratchBytes, leastFreeBytes } from '../../../queue/worker-store.ts'
import { viewerOf } from '../../middleware/authenticate.ts'
import { answer, answerNotModified } from '../../middleware/json-answer.ts'
import type { ServerParts } from '../../server-parts.ts'
import { getServiceState } from './admin-service-operations.ts'
import { type Storage, serviceStateJson } from './service-state-json.ts'

/** The whole service at a glance, for its operator. To everyone else there is nothing here. */
export function adminService(app: FastifyInstance, parts: ServerParts): void {
  const { db, blobs, now, version } = parts

  const readUse = storageUse(parts)

  async function readStorage(): Promise<Storage> {
    const [use, scratchBytes, freeBytes] = await Promise.all([
      readUse(),
      allScratchBytes(db, now()),
      isComposing(blobs) ? null : leastFreeBytes(db, now()),
    ])
    return { ...use, scratchBytes, freeBytes }
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
      const lasting = {
        ...body,
        observed_at: '',
        storage: { ...body.storage, free_bytes: 0, scratch_bytes: 0, used_bytes: 0 },
      }
      if (answerNotModified(request, reply, [JSON.stringify(lasting)])) return reply
      return answer(reply, body)
    },
  )
}

function periodOf(sent: unknown): ThroughputPeriod {
  const period = throughputPeriods.find((each) => each === (sent ?? 'hour'))
  if (!period) throw new InvalidRequest([{ resource: 'Service', field: 'period', code: 'invalid' }])
  return period
}
