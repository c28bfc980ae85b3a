import { throughputPeriods } from '../../migrations/throughput.ts'
import { text } from '../description/json-schema.ts'
import { json, type Operation, one, parameter } from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'

export const getServiceState = {
  operationId: 'admin/get-service-state',
  tags: ['Operator'],
  summary: 'Get the state of the whole service',
  description:
    'Running and waiting jobs, storage, locks, failures, workers and throughput. The answer is 404 for accounts that are not `site_admin`. An extension of this server.',
  parameters: [
    {
      name: 'period',
      in: 'query',
      description: 'Period of `throughput`.',
      schema: { ...text, enum: [...throughputPeriods], default: 'hour' },
    },
    parameter('if-none-match'),
  ],
  responses: {
    200: json('The state of the service.', {
      schema: one('service-state'),
      example: 'service-state',
      headers: ['etag'],
    }),
    304: refusal('not-modified'),
    404: refusal('not-found'),
    422: refusal('invalid-query'),
  },
} satisfies Operation
