import { integer, text } from '../description/json-schema.ts'
import { json, type Operation, one, parameter, several } from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'
import { retryBodySchema } from '../migrations/progress-schema.ts'

const notFound = refusal('not-found')
const none = { description: 'Done.' }
const own =
  'Of any account. The answer is 404 for accounts that are not `site_admin`. An extension of this server.'
const inPath = (name: string, schema: object, example: unknown) => ({
  name,
  in: 'path',
  required: true,
  schema,
  example,
})

export const cancelMigration = {
  operationId: 'admin/cancel-migration',
  tags: ['Operator'],
  summary: 'Cancel any migration',
  description: own,
  parameters: [parameter('migration-id')],
  responses: {
    200: json('The migration is cancelled.', { schema: one('summary'), example: 'summary' }),
    404: notFound,
    422: refusal('invalid'),
  },
} satisfies Operation

export const retryMigration = {
  operationId: 'admin/retry-migration',
  tags: ['Operator'],
  summary: 'Retry any migration',
  description: `Starts a new migration of the same account, with the same repositories and options. ${own}`,
  parameters: [parameter('migration-id')],
  body: retryBodySchema,
  responses: {
    201: json('The new migration.', { schema: one('summary'), example: 'summary' }),
    404: notFound,
    422: refusal('invalid'),
  },
} satisfies Operation

export const deleteArchive = {
  operationId: 'admin/delete-archive',
  tags: ['Operator'],
  summary: 'Delete the archive of any migration',
  description: own,
  parameters: [parameter('migration-id')],
  responses: { 204: none, 404: notFound },
} satisfies Operation

export const releaseLock = {
  operationId: 'admin/release-lock',
  tags: ['Operator'],
  summary: 'Release the locks of any repository',
  description: `Whichever migrations hold them. ${own}`,
  parameters: [inPath('owner', text, 'alice'), inPath('name', text, 'atlas')],
  responses: { 204: none, 404: notFound },
} satisfies Operation

export const listTokens = {
  operationId: 'admin/list-tokens',
  tags: ['Operator'],
  summary: 'List all tokens',
  description: `Without the secrets. ${own}`,
  responses: {
    200: json('The tokens.', { schema: several('token'), example: 'tokens' }),
    404: notFound,
  },
} satisfies Operation

export const revokeToken = {
  operationId: 'admin/revoke-token',
  tags: ['Operator'],
  summary: 'Revoke any token',
  description: `Sessions that were opened with it end, too. ${own}`,
  parameters: [inPath('token_id', integer, 7)],
  responses: { 204: none, 404: notFound },
} satisfies Operation
