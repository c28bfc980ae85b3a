import { startRequestSchema } from '../../../wire/migration.ts'
import { retryRequestSchema } from '../../../wire/progress.ts'
import { EXTENSION, string } from '../../../wire/schema.ts'
import { json, type Operation, one } from '../../description/operation.ts'
import { IF_NONE_MATCH, inHeader, parameter } from '../../description/parameters.ts'
import { refusal } from '../../description/refusals.ts'
import { alsoAs, current, notFound, record } from '../../description/usual-answers.ts'

const eventsSchema = {
  ...string,
  description: 'Server-sent events. The data of each is JSON.',
  contentMediaType: 'text/event-stream',
  contentSchema: {
    anyOf: [one('repository-progress'), one('progress-update'), one('progress-end')],
  },
}

export const getProgress = {
  operationId: 'migrations/get-progress',
  tags: ['Migrations'],
  summary: 'Follow the progress of a migration',
  description: `With \`accept: text/event-stream\` the answer is a stream of updates, as server-sent events: \`repository\` for each repository that has ended (schema \`repository-progress\`), \`progress\` with the new totals, the state, and the repositories that are under way (\`progress-update\`), and \`end\` (\`progress-end\`). ${EXTENSION}`,
  parameters: [
    parameter('migration-id'),
    IF_NONE_MATCH,
    inHeader(
      'last-event-id',
      'ID of the last event that was received, to resume a stream. Browsers send it automatically.',
    ),
  ],
  responses: {
    ...alsoAs('text/event-stream', current('The progress.', 'progress'), eventsSchema),
    204: { description: 'All events have been sent already.' },
    404: notFound,
  },
} satisfies Operation

export const getReport = {
  operationId: 'migrations/get-report',
  tags: ['Migrations'],
  summary: 'Get the report of a migration',
  description: `Which repositories were exported, reused and skipped, with reasons. With \`accept: text/plain\` as plain text. ${EXTENSION}`,
  parameters: [parameter('migration-id'), IF_NONE_MATCH],
  responses: { ...alsoAs('text/plain', current('The report.', 'report')), 404: notFound },
} satisfies Operation

export const cancelMigration = {
  operationId: 'migrations/cancel',
  tags: ['Migrations'],
  summary: 'Cancel a migration',
  description: `The migration becomes \`failed\` (\`cancelled\` in its summary, progress and report), and its locks are released. Repositories exported so far are kept for a retry. ${EXTENSION}`,
  parameters: [parameter('migration-id')],
  responses: {
    200: json('The migration is cancelled.', { schema: one('migration'), example: 'cancelled' }),
    404: notFound,
    422: refusal('invalid'),
  },
} satisfies Operation

export const forecastRetry = {
  operationId: 'migrations/get-retry-forecast',
  tags: ['Migrations'],
  summary: 'Get what a retry of a migration has to expect',
  description: `The repositories that could not be exported, whether they have changed since then, and the repositories that are gone. Starts nothing. ${EXTENSION}`,
  parameters: [parameter('migration-id')],
  responses: { 200: record('What a retry has to expect.', 'retry-forecast'), 404: notFound },
} satisfies Operation

export const retryMigration = {
  operationId: 'migrations/retry',
  tags: ['Migrations'],
  summary: 'Retry a migration',
  description: `Starts a new migration of the same repositories with the same options. Unchanged repositories are reused. With \`allow_partial\`, repositories that cannot be exported or are gone are skipped. ${EXTENSION}`,
  parameters: [parameter('migration-id')],
  body: retryRequestSchema,
  responses: {
    201: json('Created.', {
      schema: one('migration'),
      example: 'started',
      headers: ['location'],
    }),
    404: notFound,
    422: refusal('invalid'),
  },
} satisfies Operation

export const forecastMigration = {
  operationId: 'migrations/preflight',
  tags: ['Migrations'],
  summary: 'Get an estimate of a migration',
  description: `Takes the same body as starting a migration and makes the same checks, but starts nothing. ${EXTENSION}`,
  body: startRequestSchema,
  responses: {
    200: record('The estimate.', 'forecast'),
    413: refusal('too-large'),
    422: refusal('invalid'),
  },
} satisfies Operation
