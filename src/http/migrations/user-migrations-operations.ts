import { address, text } from '../description/json-schema.ts'
import {
  json,
  type Operation,
  one,
  parameter,
  several,
  withHeaders,
} from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'
import { startBodySchema } from './start-request.ts'

const notFound = refusal('not-found')
const notModified = refusal('not-modified')
const none = { description: 'Done.' }

export const startMigration = {
  operationId: 'migrations/start-for-authenticated-user',
  tags: ['Migrations'],
  summary: 'Start a migration',
  description:
    'Takes a snapshot of what is known of each repository and begins to export it. The caller must own or administer all of them.',
  body: startBodySchema,
  responses: {
    201: json('It is begun.', {
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
  description: 'The newest first.',
  parameters: [parameter('per-page'), parameter('page'), parameter('if-none-match')],
  responses: {
    200: json('A page of them.', {
      schema: several('migration'),
      example: 'migrations',
      headers: ['etag', 'link'],
    }),
    304: notModified,
  },
} satisfies Operation

export const getMigration = {
  operationId: 'migrations/get-status-for-authenticated-user',
  tags: ['Migrations'],
  summary: 'Get a migration and its state',
  parameters: [parameter('migration-id'), parameter('exclude'), parameter('if-none-match')],
  responses: {
    200: json('The migration.', {
      schema: one('migration'),
      example: 'migration',
      headers: ['etag'],
    }),
    304: notModified,
    404: notFound,
  },
} satisfies Operation

export const listRepositories = {
  operationId: 'migrations/list-repos-for-authenticated-user',
  tags: ['Migrations'],
  summary: 'List the repositories of a migration',
  description:
    'As they were when it started, in the order they were asked for: no page of it ever changes.',
  parameters: [
    parameter('migration-id'),
    parameter('per-page'),
    parameter('page'),
    parameter('if-none-match'),
  ],
  responses: {
    200: json('A page of them.', {
      schema: several('repository'),
      example: 'repositories',
      headers: ['etag', 'link'],
    }),
    304: notModified,
    404: notFound,
  },
} satisfies Operation

export const listRepositoriesByFormerPath = {
  ...listRepositories,
  operationId: 'migrations/list-repos-by-former-path',
  summary: 'List the repositories of a migration, by its former path',
  description: 'What clients of some years ago call. Answers the same.',
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
        'A link that is good for five minutes. It is a credential: whoever has it may download.',
      ...withHeaders('location'),
      content: { 'text/plain': { schema: address } },
    },
    404: notFound,
  },
} satisfies Operation

export const deleteArchive = {
  operationId: 'migrations/delete-archive-for-authenticated-user',
  tags: ['Archives'],
  summary: 'Delete the archive of a migration',
  description: 'The record of the migration stays.',
  parameters: [parameter('migration-id')],
  responses: { 204: none, 404: notFound },
} satisfies Operation

export const unlockRepository = {
  operationId: 'migrations/unlock-repo-for-authenticated-user',
  tags: ['Migrations'],
  summary: 'Unlock a repository',
  description:
    'Ends what `lock_repositories` began. The repository takes pushes again when the last migration that locked it has let go.',
  parameters: [parameter('migration-id'), parameter('repo-name')],
  responses: { 204: none, 404: notFound },
} satisfies Operation

const aboutBytes = withHeaders('etag', 'accept-ranges', 'content-disposition')
const bytes = { 'application/x-gzip': { schema: {} } }

export const downloadArchive = {
  operationId: 'archives/download',
  tags: ['Archives'],
  summary: 'Download an archive',
  description:
    'The link comes from the archive of a migration and is all that is asked for: no token. Interrupted downloads can go on by range.',
  security: [],
  parameters: [
    {
      name: 'guid',
      in: 'path',
      required: true,
      description: 'The `guid` of the migration.',
      schema: { ...text, format: 'uuid' },
      example: '3f1c2a52-6b7e-4f7e-9d55-0a4f8c1f7b21',
    },
    { name: 'expires', in: 'query', required: true, schema: text, example: '1777887300' },
    { name: 'signature', in: 'query', required: true, schema: text, example: '9f86d081884c7d65' },
    {
      name: 'range',
      in: 'header',
      description: 'One range of bytes, `bytes=1048576-` say. Several at once are answered whole.',
      schema: text,
    },
    {
      name: 'if-range',
      in: 'header',
      description: 'The `etag` that the first part had.',
      schema: text,
    },
  ],
  responses: {
    200: { description: 'The whole archive.', ...aboutBytes, content: bytes },
    206: {
      description: 'The range.',
      headers: { ...aboutBytes.headers, ...withHeaders('content-range').headers },
      content: bytes,
    },
    403: refusal('link-invalid'),
    404: refusal('link-gone'),
    416: refusal('range-outside'),
    429: refusal('too-many-streams'),
    503: refusal('archive-unreadable'),
  },
} satisfies Operation
