import { throughputPeriods } from '../../migrations/throughput.ts'
import { text } from '../description/json-schema.ts'
import { json, type Operation, one, parameter } from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'

export const getServiceState = {
  operationId: 'admin/get-service-state',
  tags: ['Operator'],
  summary: 'See the whole service',
  description:
    'What runs, waits, is stored, is locked and has failed, who works, and how much was done when. To accounts that are not `site_admin` there is no such thing. An extension of this server.',
  parameters: [
    {
      name: 'period',
      in: 'query',
      description: 'How far back `throughput` reaches.',
      schema: { ...text, enum: [...throughputPeriods], default: 'hour' },
    },
    parameter('if-none-match'),
  ],
  responses: {
    200: json('The service as it is now.', {
      schema: one('service-state'),
      example: 'service-state',
      headers: ['etag'],
    }),
    304: refusal('not-modified'),
    404: refusal('not-found'),
    422: refusal('invalid-query'),
  },
} satisfies Operation
