import { startRequestSchema } from '../../../wire/migration.ts'
import { string, uri } from '../../../wire/schema.ts'
import { json, type Operation, one, withHeaders } from '../../description/operation.ts'
import { IF_NONE_MATCH, inHeader, inPath, PAGED, parameter } from '../../description/parameters.ts'
import { refusal } from '../../description/refusals.ts'
import { current, done, notFound, page } from '../../description/usual-answers.ts'

export const startMigration = {
  operationId: 'migrations/start-for-authenticated-user',
  tags: ['Migrations'],
  summary: 'Start a migration',
  description:
    'Starts an export of the repositories. The caller must own or administer all of them.',
  body: startRequestSchema,
  responses: {
    201: json('Created.', {
      schema: one('migration'),
      example: 'started',
      headers: ['location'],
    }),
    413: refusal('too-large'),
    422: refusal('invalid'),
  },
} satisfies Operation

export const listMigrations = {
  operationId: 'migrations/list-for-authenticated-user',
  tags: ['Migrations'],
  summary: "List the caller's migrations",
  description: 'Newest first.',
  parameters: PAGED,
  responses: page('migration', 'migrations'),
} satisfies Operation

export const getMigration = {
  operationId: 'migrations/get-status-for-authenticated-user',
  tags: ['Migrations'],
  summary: 'Get a migration and its state',
  parameters: [parameter('migration-id'), parameter('exclude'), IF_NONE_MATCH],
  responses: { ...current('The migration.', 'migration'), 404: notFound },
} satisfies Operation

export const listRepositories = {
  operationId: 'migrations/list-repos-for-authenticated-user',
  tags: ['Migrations'],
  summary: 'List the repositories of a migration',
  description:
    'The repositories at the time when the migration started, in the requested order. The pages never change.',
  parameters: [parameter('migration-id'), ...PAGED],
  responses: { ...page('repository', 'repositories'), 404: notFound },
} satisfies Operation

export const listRepositoriesByFormerPath = {
  ...listRepositories,
  operationId: 'migrations/list-repos-by-former-path',
  summary: 'List the repositories of a migration (old path)',
  description: 'Used by old clients. The answer is the same.',
  deprecated: true,
} satisfies Operation

export const getArchive = {
  operationId: 'migrations/get-archive-for-authenticated-user',
  tags: ['Archives'],
  summary: 'Get a link to the archive of a migration',
  parameters: [parameter('migration-id')],
  responses: {
    302: {
      description:
        'A link that expires, after five minutes by default. It is a credential: anyone who has it can download the archive.',
      ...withHeaders('location'),
      content: { 'text/plain': { schema: uri } },
    },
    404: notFound,
    410: refusal('archive-damaged'),
  },
} satisfies Operation

export const deleteArchive = {
  operationId: 'migrations/delete-archive-for-authenticated-user',
  tags: ['Archives'],
  summary: 'Delete the archive of a migration',
  description: 'The migration itself is kept.',
  parameters: [parameter('migration-id')],
  responses: { 204: done, 404: notFound },
} satisfies Operation

export const unlockRepository = {
  operationId: 'migrations/unlock-repo-for-authenticated-user',
  tags: ['Migrations'],
  summary: 'Unlock a repository',
  description:
    'Removes the lock of `lock_repositories`. The repository accepts pushes again when no migration locks it any more.',
  parameters: [parameter('migration-id'), parameter('repo-name')],
  responses: { 204: done, 404: notFound },
} satisfies Operation

const aboutBytes = withHeaders('etag', 'accept-ranges', 'content-disposition')
const bytes = { 'application/x-gzip': { schema: {} } }

export const downloadArchive = {
  operationId: 'archives/download',
  tags: ['Archives'],
  summary: 'Download an archive',
  description:
    'The link comes from the archive of a migration. No token is needed. Interrupted downloads can be resumed with a range.',
  security: [],
  parameters: [
    inPath(
      'guid',
      { ...string, format: 'uuid' },
      '3f1c2a52-6b7e-4f7e-9d55-0a4f8c1f7b21',
      'The `guid` of the migration.',
    ),
    { name: 'expires', in: 'query', required: true, schema: string, example: '1777887300' },
    { name: 'sig', in: 'query', required: true, schema: string, example: '9f86d081884c7d65' },
    inHeader(
      'range',
      'One range of bytes, such as `bytes=1048576-`. For several ranges the answer is the whole archive.',
    ),
    inHeader('if-range', 'The `etag` of the first part.'),
  ],
  responses: {
    200: { description: 'The whole archive.', ...aboutBytes, content: bytes },
    206: {
      description: 'The requested range.',
      headers: { ...aboutBytes.headers, ...withHeaders('content-range').headers },
      content: bytes,
    },
    403: refusal('link-invalid'),
    404: refusal('link-gone'),
    410: refusal('archive-damaged'),
    416: refusal('range-outside'),
    429: refusal('too-many-requests'),
    503: refusal('archive-unreadable'),
  },
} satisfies Operation
