import { text } from '../description/json-schema.ts'
import { alsoAs, json, type Operation, one, parameter } from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'
import { startBodySchema } from './start-request.ts'

const notFound = refusal('not-found')
const own = 'An extension of this server.'

export const getProgress = {
  operationId: 'migrations/get-progress',
  tags: ['Migrations'],
  summary: 'Follow the progress of a migration',
  description: `With \`accept: text/event-stream\` it is told as it goes, by events: \`repository\` for each that has ended, \`progress\` with new totals, and \`end\`. ${own}`,
  parameters: [
    parameter('migration-id'),
    parameter('if-none-match'),
    {
      name: 'last-event-id',
      in: 'header',
      description: 'How far a stream that broke off had come; browsers send it by themselves.',
      schema: text,
    },
  ],
  responses: {
    200: alsoAs(
      'text/event-stream',
      json('How far it has come.', {
        schema: one('progress'),
        example: 'progress',
        headers: ['etag'],
      }),
    ),
    204: { description: 'The stream has told everything already.' },
    304: refusal('not-modified'),
    404: notFound,
    429: refusal('too-many-streams'),
  },
} satisfies Operation

export const getReport = {
  operationId: 'migrations/get-report',
  tags: ['Migrations'],
  summary: 'Get the report of a migration',
  description: `What was exported, reused and skipped, and why. With \`accept: text/plain\` for people. ${own}`,
  parameters: [parameter('migration-id'), parameter('if-none-match')],
  responses: {
    200: alsoAs(
      'text/plain',
      json('What became of it so far.', {
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
  description: `It ends as \`failed\`, and its locks are released. What was exported so far is kept for a retry. ${own}`,
  parameters: [parameter('migration-id')],
  responses: {
    200: json('It has ended.', { schema: one('migration'), example: 'cancelled' }),
    404: notFound,
    422: refusal('invalid'),
  },
} satisfies Operation

export const retryMigration = {
  operationId: 'migrations/retry',
  tags: ['Migrations'],
  summary: 'Start a migration anew',
  description: `A new migration of the same repositories with the same options. Whatever is unchanged since costs a look-up. ${own}`,
  parameters: [parameter('migration-id')],
  responses: {
    201: json('The new one is begun.', {
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
  summary: 'See what a migration would do',
  description: `Takes what starting one takes, refuses what starting one refuses, and starts none. ${own}`,
  body: startBodySchema,
  responses: {
    200: json('What it would carry and cost.', { schema: one('forecast'), example: 'forecast' }),
    413: refusal('too-large'),
    422: refusal('invalid'),
  },
} satisfies Operation
