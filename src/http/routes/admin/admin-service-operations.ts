import { throughputPeriods } from '../../../migrations/throughput.ts'
import { EXTENSION, enumOf } from '../../../wire/schema.ts'
import type { Operation } from '../../description/operation.ts'
import { IF_NONE_MATCH, inQuery } from '../../description/parameters.ts'
import { refusal } from '../../description/refusals.ts'
import { current, notFound } from '../../description/usual-answers.ts'

export const getServiceState = {
  operationId: 'admin/get-service-state',
  tags: ['Operator'],
  summary: 'Get the state of the whole service',
  description: `Running and waiting jobs, storage, locks, failures, workers and throughput. The answer is 404 for accounts that are not \`site_admin\`. ${EXTENSION}`,
  parameters: [
    inQuery('period', enumOf(throughputPeriods, 'hour'), 'Period of `throughput`.'),
    IF_NONE_MATCH,
  ],
  responses: {
    ...current('The state of the service.', 'service-state'),
    404: notFound,
    422: refusal('invalid-query'),
  },
} satisfies Operation
