import { arrayOf, enumOf, integer, type Schema, string } from '../../wire/schema.ts'

export const inPath = (name: string, schema: Schema, example: unknown, description?: string) => ({
  name,
  in: 'path',
  required: true,
  ...(description !== undefined && { description }),
  schema,
  example,
})

export const inQuery = (name: string, schema: Schema, description?: string) => ({
  name,
  in: 'query',
  ...(description !== undefined && { description }),
  schema,
})

export const inHeader = (name: string, description: string) => ({
  name,
  in: 'header',
  description,
  schema: string,
})

export const LENIENT = 'Invalid values are ignored.'

/** The parameters that operations refer to by name. */
export const parameters = {
  'migration-id': inPath('migration_id', integer, 79, 'ID of a migration.'),
  'schedule-id': inPath('schedule_id', integer, 3, 'ID of a schedule.'),
  org: inPath('org', string, 'octo', 'Login of an organization; case is ignored.'),
  'organization-id': inPath('organization_id', integer, 12, 'ID of an organization.'),
  owner: inPath('owner', string, 'alice', 'Login of the owner; case is ignored.'),
  repo: inPath('repo', string, 'atlas', 'Name of the repository, without `.git`; case is ignored.'),
  username: inPath(
    'username',
    string,
    'alice',
    'Login of a person or an organization; case is ignored.',
  ),
  license: inPath(
    'license',
    string,
    'mit',
    'Key of a licence: its SPDX identifier; case is ignored.',
  ),
  'repo-name': inPath('repo_name', string, 'atlas', 'Name of a repository, or `owner%2Fname`.'),
  'hook-id': inPath('hook_id', integer, 3, 'ID of a webhook.'),
  'delivery-id': inPath('delivery_id', integer, 41, 'ID of a delivery.'),
  page: inQuery(
    'page',
    { ...integer, minimum: 1, default: 1 },
    `Number of the page; default 1. ${LENIENT}`,
  ),
  'per-page': inQuery(
    'per_page',
    { ...integer, minimum: 1, maximum: 100, default: 30 },
    `Entries per page, at most 100; default 30. ${LENIENT}`,
  ),
  exclude: {
    ...inQuery(
      'exclude',
      arrayOf(enumOf(['repositories'])),
      'Parts to exclude from the answer. Can be separated by commas, repeated, or written as `exclude[]`. Other values are ignored.',
    ),
    style: 'form',
    explode: false,
  },
  'if-none-match': inHeader(
    'if-none-match',
    'The `etag` of an earlier answer. If nothing has changed, the answer is 304 and does not count.',
  ),
}

export const parameter = (name: keyof typeof parameters): { $ref: string } => ({
  $ref: `#/components/parameters/${name}`,
})

export const IF_NONE_MATCH = parameter('if-none-match')
export const PAGED = [parameter('per-page'), parameter('page'), IF_NONE_MATCH]
