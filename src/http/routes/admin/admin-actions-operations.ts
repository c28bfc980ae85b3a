import { retryRequestSchema } from '../../../wire/progress.ts'
import { EXTENSION, integer, string } from '../../../wire/schema.ts'
import { json, type Operation, several } from '../../description/operation.ts'
import { inPath, parameter } from '../../description/parameters.ts'
import { refusal } from '../../description/refusals.ts'
import { done, notFound, record } from '../../description/usual-answers.ts'

const OF_ANY = `Of any account. The answer is 404 for accounts that are not \`site_admin\`. ${EXTENSION}`

export const cancelMigration = {
  operationId: 'admin/cancel-migration',
  tags: ['Operator'],
  summary: 'Cancel any migration',
  description: OF_ANY,
  parameters: [parameter('migration-id')],
  responses: {
    200: record('The migration is cancelled.', 'summary'),
    404: notFound,
    422: refusal('invalid'),
  },
} satisfies Operation

export const retryMigration = {
  operationId: 'admin/retry-migration',
  tags: ['Operator'],
  summary: 'Retry any migration',
  description: `Starts a new migration of the same account, with the same repositories and options. ${OF_ANY}`,
  parameters: [parameter('migration-id')],
  body: retryRequestSchema,
  responses: {
    201: record('The new migration.', 'summary'),
    404: notFound,
    422: refusal('invalid'),
  },
} satisfies Operation

export const deleteArchive = {
  operationId: 'admin/delete-archive',
  tags: ['Operator'],
  summary: 'Delete the archive of any migration',
  description: OF_ANY,
  parameters: [parameter('migration-id')],
  responses: { 204: done, 404: notFound },
} satisfies Operation

export const releaseLock = {
  operationId: 'admin/release-lock',
  tags: ['Operator'],
  summary: 'Release the locks of any repository',
  description: `Whichever migrations hold them. ${OF_ANY}`,
  parameters: [inPath('owner', string, 'alice'), inPath('name', string, 'atlas')],
  responses: { 204: done, 404: notFound },
} satisfies Operation

export const listTokens = {
  operationId: 'admin/list-tokens',
  tags: ['Operator'],
  summary: 'List all tokens',
  description: `Without the secrets. ${OF_ANY}`,
  responses: {
    200: json('The tokens.', { schema: several('token'), example: 'tokens' }),
    404: notFound,
  },
} satisfies Operation

export const revokeToken = {
  operationId: 'admin/revoke-token',
  tags: ['Operator'],
  summary: 'Revoke any token',
  description: `Sessions that were opened with it end, too. ${OF_ANY}`,
  parameters: [inPath('token_id', integer, 7)],
  responses: { 204: done, 404: notFound },
} satisfies Operation
