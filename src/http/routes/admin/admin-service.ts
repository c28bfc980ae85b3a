import type { FastifyInstance } from 'fastify'
import { isComposing } from '../../../blobs/blob-store.ts'
import { InvalidRequest } from '../../../migrations/errors.ts'
import {
  readServiceState,
  storageUse,
  type ThroughputPeriod,
  throughputPeriods,
} from '../../../migrations/service-state.ts'
import { smallestFreeBytes, totalScratchBytes } from '../../../queue/worker-store.ts'
import { EXTENSION, enumOf } from '../../../wire/schema.ts'
import * as openapi from '../../description/operation.ts'
import { sendIfNotModified, sendJson } from '../../middleware/json-response.ts'
import type { ServerParts } from '../../server-parts.ts'
import { requireSiteAdmin } from './admin-actions.ts'
import { serviceStateJson } from './service-state-json.ts'

type WithQuery = { Querystring: Record<string, unknown> }

const docs = openapi.operations('Operator', {
  'admin/get-service-state': {
    summary: 'Get the state of the whole service',
    description: `Running and waiting jobs, storage, locks, failures, workers and throughput. The response is 404 for accounts that are not \`site_admin\`. ${EXTENSION}`,
    parameters: [
      openapi.inQuery('period', enumOf(throughputPeriods, 'hour'), 'Period of `throughput`.'),
    ],
    responses: {
      ...openapi.recordResponses('The state of the service.', 'service-state'),
      422: openapi.errorResponse('invalid-query'),
    },
  },
})

/** Adds the state of the service; 404 for callers who are not site admins. */
export function addServiceStateRoute(app: FastifyInstance, parts: ServerParts): void {
  const { db, blobs, now, version } = parts
  const readStorageUse = storageUse(parts)

  async function readStorage() {
    const [use, scratchBytes, freeBytes] = await Promise.all([
      readStorageUse(),
      totalScratchBytes(db, now()),
      isComposing(blobs) ? null : smallestFreeBytes(db, now()),
    ])
    return { ...use, scratchBytes, freeBytes }
  }

  app.get<WithQuery>(
    '/admin/service',
    { schema: docs['admin/get-service-state'] },
    async (request, reply) => {
      await requireSiteAdmin(parts, request)
      const period = periodOf(request.query.period)
      const [state, storage] = await Promise.all([readServiceState(parts, period), readStorage()])
      const body = serviceStateJson(state, storage, version)
      // These fields change all the time, so the ETag does not cover them.
      const stable = {
        ...body,
        observed_at: '',
        storage: { ...body.storage, free_bytes: 0, scratch_bytes: 0, used_bytes: 0 },
      }
      if (sendIfNotModified(request, reply, [JSON.stringify(stable)])) return reply
      return sendJson(reply, body)
    },
  )
}

function periodOf(sent: unknown): ThroughputPeriod {
  const period = throughputPeriods.find((each) => each === (sent ?? 'hour'))
  if (!period) throw new InvalidRequest([{ resource: 'Service', field: 'period', code: 'invalid' }])
  return period
}
