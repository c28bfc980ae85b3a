import { json, type Operation, one, parameter, several } from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'

const notFound = refusal('not-found')
const notModified = refusal('not-modified')
const own = 'An extension of this server.'

export const listSummaries = {
  operationId: 'migrations/list-summaries',
  tags: ['Migrations'],
  summary: "List the caller's migrations in short",
  description: `The newest first, without their repositories: for pages that show many. ${own}`,
  parameters: [parameter('per-page'), parameter('page'), parameter('if-none-match')],
  responses: {
    200: json('A page of them.', {
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
  summary: 'Get a migration in short',
  description: own,
  parameters: [parameter('migration-id'), parameter('if-none-match')],
  responses: {
    200: json('What has become of it.', {
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
  summary: 'List the repositories that a migration keeps locked',
  description: own,
  parameters: [parameter('migration-id'), parameter('if-none-match')],
  responses: {
    200: json('All of them.', { schema: several('lock'), example: 'locks', headers: ['etag'] }),
    304: notModified,
    404: notFound,
  },
} satisfies Operation

export const getArchiveLink = {
  operationId: 'migrations/get-archive-link',
  tags: ['Archives'],
  summary: 'Get a link to the archive of a migration, as a record',
  description: `What the archive's redirection leads to, for pages: a browser hides the target of a redirection from them. ${own}`,
  parameters: [parameter('migration-id')],
  responses: {
    200: json('A link that is good for five minutes.', {
      schema: one('archive-link'),
      example: 'archive-link',
    }),
    404: notFound,
  },
} satisfies Operation
