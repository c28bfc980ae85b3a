import { NEWEST_LOOKED_AT } from '../../migrations/summaries.ts'
import { text } from '../description/json-schema.ts'
import { json, type Operation, one, parameter, several } from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'

const notFound = refusal('not-found')
const notModified = refusal('not-modified')
const own = 'An extension of this server.'

export const listSummaries = {
  operationId: 'migrations/list-summaries',
  tags: ['Migrations'],
  summary: "List summaries of the caller's migrations",
  description: `Newest first, without their repositories. ${own}`,
  parameters: [
    {
      name: 'repository',
      in: 'query',
      description: `\`owner/name\`: only those of the newest ${NEWEST_LOOKED_AT} migrations that this repository is in.`,
      schema: text,
    },
    parameter('per-page'),
    parameter('page'),
    parameter('if-none-match'),
  ],
  responses: {
    200: json('One page of the list.', {
      schema: several('summary'),
      example: 'summaries',
      headers: ['etag', 'link', 'x-total-count'],
    }),
    304: notModified,
  },
} satisfies Operation

export const getSummary = {
  operationId: 'migrations/get-summary',
  tags: ['Migrations'],
  summary: 'Get the summary of a migration',
  description: own,
  parameters: [parameter('migration-id'), parameter('if-none-match')],
  responses: {
    200: json('The summary.', {
      schema: one('summary'),
      example: 'summary',
      headers: ['etag'],
    }),
    304: notModified,
    404: notFound,
  },
} satisfies Operation

export const listLocks = {
  operationId: 'migrations/list-locks',
  tags: ['Migrations'],
  summary: 'List the repositories that a migration locks',
  description: own,
  parameters: [parameter('migration-id'), parameter('if-none-match')],
  responses: {
    200: json('The locked repositories.', {
      schema: several('lock'),
      example: 'locks',
      headers: ['etag'],
    }),
    304: notModified,
    404: notFound,
  },
} satisfies Operation

export const listOwnLocks = {
  operationId: 'migrations/list-own-locks',
  tags: ['Migrations'],
  summary: "List the locks on the caller's repositories",
  description: `Locks on repositories that the caller owns or administers, with the migration that holds each of them and whose it is. Newest first. ${own}`,
  parameters: [parameter('if-none-match')],
  responses: {
    200: json('The locked repositories.', {
      schema: several('held-lock'),
      example: 'own-locks',
      headers: ['etag'],
    }),
    304: notModified,
  },
} satisfies Operation

export const getArchiveLink = {
  operationId: 'migrations/get-archive-link',
  tags: ['Archives'],
  summary: 'Get a link to the archive of a migration as JSON',
  description: `The target of the redirect as JSON, because browsers hide it from scripts. ${own}`,
  parameters: [parameter('migration-id')],
  responses: {
    200: json('A link that expires, after five minutes by default.', {
      schema: one('archive-link'),
      example: 'archive-link',
    }),
    404: notFound,
  },
} satisfies Operation
