import { text } from '../description/json-schema.ts'
import { alsoAs, json, type Operation, one, parameter } from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'
import { retryBodySchema } from './progress-schema.ts'
import { startBodySchema } from './start-request.ts'

const notFound = refusal('not-found')
const own = 'An extension of this server.'

export const getProgress = {
  operationId: 'migrations/get-progress',
  tags: ['Migrations'],
  summary: 'Follow the progress of a migration',
  description: `With \`accept: text/event-stream\` the answer is a stream of updates, as server-sent events: \`repository\` for each repository that has ended, \`progress\` with the new totals, the state, and the repositories that are under way (\`under_way\`), and \`end\`. ${own}`,
  parameters: [
    parameter('migration-id'),
    parameter('if-none-match'),
    {
      name: 'last-event-id',
      in: 'header',
      description:
        'ID of the last event that was received, to resume a stream. Browsers send it automatically.',
      schema: text,
    },
  ],
  responses: {
    200: alsoAs(
      'text/event-stream',
      json('The progress.', {
        schema: one('progress'),
        example: 'progress',
        headers: ['etag'],
      }),
    ),
    204: { description: 'All events have been sent already.' },
    304: refusal('not-modified'),
    404: notFound,
    429: refusal('too-many-streams'),
  },
} satisfies Operation

export const getReport = {
  operationId: 'migrations/get-report',
  tags: ['Migrations'],
  summary: 'Get the report of a migration',
  description: `Which repositories were exported, reused and skipped, with reasons. With \`accept: text/plain\` as plain text. ${own}`,
  parameters: [parameter('migration-id'), parameter('if-none-match')],
  responses: {
    200: alsoAs(
      'text/plain',
      json('The report.', {
        schema: one('report'),
        example: 'report',
        headers: ['etag'],
      }),
    ),
    304: refusal('not-modified'),
    404: notFound,
  },
} satisfies Operation

export const cancelMigration = {
  operationId: 'migrations/cancel',
  tags: ['Migrations'],
  summary: 'Cancel a migration',
  description: `The migration becomes \`failed\` (\`cancelled\` in its summary, progress and report), and its locks are released. Repositories exported so far are kept for a retry. ${own}`,
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
  description: `The repositories that could not be exported, and whether they have changed since then. Starts nothing. ${own}`,
  parameters: [parameter('migration-id')],
  responses: {
    200: json('What a retry has to expect.', {
      schema: one('retry-forecast'),
      example: 'retry-forecast',
    }),
    404: notFound,
  },
} satisfies Operation

export const retryMigration = {
  operationId: 'migrations/retry',
  tags: ['Migrations'],
  summary: 'Retry a migration',
  description: `Starts a new migration of the same repositories with the same options. Unchanged repositories are reused. With \`allow_partial\`, repositories that cannot be exported are skipped. ${own}`,
  parameters: [parameter('migration-id')],
  body: retryBodySchema,
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
  description: `Takes the same body as starting a migration and makes the same checks, but starts nothing. ${own}`,
  body: startBodySchema,
  responses: {
    200: json('The estimate.', { schema: one('forecast'), example: 'forecast' }),
    413: refusal('too-large'),
    422: refusal('invalid'),
  },
} satisfies Operation
