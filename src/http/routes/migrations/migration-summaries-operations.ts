import { NEWEST_LOOKED_AT } from '../../../migrations/summaries.ts'
import { EXTENSION, string } from '../../../wire/schema.ts'
import { json, type Operation, several } from '../../description/operation.ts'
import { IF_NONE_MATCH, inQuery, PAGED, parameter } from '../../description/parameters.ts'
import { refusal } from '../../description/refusals.ts'
import { current, notFound, notModified, page, record } from '../../description/usual-answers.ts'

export const listSummaries = {
  operationId: 'migrations/list-summaries',
  tags: ['Migrations'],
  summary: "List summaries of the caller's migrations",
  description: `Newest first, without their repositories. ${EXTENSION}`,
  parameters: [
    inQuery(
      'repository',
      string,
      `\`owner/name\`: only those of the newest ${NEWEST_LOOKED_AT} migrations that this repository is in.`,
    ),
    ...PAGED,
  ],
  responses: page('summary', 'summaries', 'x-total-count'),
} satisfies Operation

export const getSummary = {
  operationId: 'migrations/get-summary',
  tags: ['Migrations'],
  summary: 'Get the summary of a migration',
  description: EXTENSION,
  parameters: [parameter('migration-id'), IF_NONE_MATCH],
  responses: { ...current('The summary.', 'summary'), 404: notFound },
} satisfies Operation

export const listLocks = {
  operationId: 'migrations/list-locks',
  tags: ['Migrations'],
  summary: 'List the repositories that a migration locks',
  description: EXTENSION,
  parameters: [parameter('migration-id'), IF_NONE_MATCH],
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
  description: `Locks on repositories that the caller owns or administers, with the migration that holds each of them and whose it is. Newest first. ${EXTENSION}`,
  parameters: [IF_NONE_MATCH],
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
  description: `The target of the redirect as JSON, because browsers hide it from scripts. ${EXTENSION}`,
  parameters: [parameter('migration-id')],
  responses: {
    200: record('A link that expires, after five minutes by default.', 'archive-link'),
    404: notFound,
    410: refusal('archive-damaged'),
  },
} satisfies Operation
