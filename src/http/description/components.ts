import { errorSchema, validationErrorSchema } from '../door/error-schema.ts'
import { rateLimitSchema } from '../door/rate-limit-schema.ts'
import { migrationSchema } from '../migrations/migration-schema.ts'
import {
  forecastSchema,
  progressSchema,
  reportSchema,
  repositoryProgressSchema,
} from '../migrations/progress-schema.ts'
import { startBodySchema } from '../migrations/start-request.ts'
import { archiveLinkSchema, lockSchema, summarySchema } from '../migrations/summary-schema.ts'
import {
  extendedRepositorySchema,
  licenseSchema,
  repositorySchema,
} from '../repositories/repository-schema.ts'
import { rootSchema } from '../service/root-schema.ts'
import { serviceStateSchema } from '../service/service-state-schema.ts'
import { currentUserSchema, userSchema } from '../service/user-schema.ts'
import { address, count, integer, listOf, text } from './json-schema.ts'

/** What operations refer to by name, so that each thing is said once. */
export const schemas = {
  'start-request': startBodySchema,
  migration: migrationSchema,
  repository: repositorySchema,
  'extended-repository': extendedRepositorySchema,
  license: licenseSchema,
  progress: progressSchema,
  'repository-progress': repositoryProgressSchema,
  report: reportSchema,
  forecast: forecastSchema,
  summary: summarySchema,
  lock: lockSchema,
  'archive-link': archiveLinkSchema,
  user: userSchema,
  'current-user': currentUserSchema,
  'rate-limit': rateLimitSchema,
  root: rootSchema,
  'service-state': serviceStateSchema,
  error: errorSchema,
  'validation-error': validationErrorSchema,
}

const lenient = 'What makes no sense counts as not sent.'

export const parameters = {
  'migration-id': {
    name: 'migration_id',
    in: 'path',
    required: true,
    description: "One of the caller's own migrations.",
    schema: integer,
    example: 79,
  },
  'repo-name': {
    name: 'repo_name',
    in: 'path',
    required: true,
    description: 'The name of a repository, or owner and name with the slash written as `%2F`.',
    schema: text,
    example: 'atlas',
  },
  page: {
    name: 'page',
    in: 'query',
    description: `Which page of the list. ${lenient}`,
    schema: { ...integer, minimum: 1, default: 1 },
  },
  'per-page': {
    name: 'per_page',
    in: 'query',
    description: `How many on a page; more than 100 counts as 100. ${lenient}`,
    schema: { ...integer, minimum: 1, maximum: 100, default: 30 },
  },
  exclude: {
    name: 'exclude',
    in: 'query',
    description:
      'What to leave out. May be joined by commas, repeated, or written `exclude[]`; other values are ignored.',
    schema: listOf({ ...text, enum: ['repositories'] }),
    style: 'form',
    explode: false,
  },
  'if-none-match': {
    name: 'if-none-match',
    in: 'header',
    description:
      'The `etag` of an earlier answer. An answer that is still the same is a 304 and free.',
    schema: text,
  },
}

export const headers = {
  etag: { description: 'To send back as `if-none-match`.', schema: text },
  link: {
    description:
      'Addresses of the `prev`, `next`, `last` and `first` page. Absent where all fits on one.',
    schema: text,
  },
  'x-total-count': { description: 'How many there are on all pages together.', schema: count },
  location: { description: 'Where it is.', schema: address },
  'retry-after': { description: 'In so many seconds.', schema: count },
  'content-range': { description: 'Which bytes of how many.', schema: text },
  'content-disposition': { description: 'A name for the file.', schema: text },
  'accept-ranges': { description: 'Always `bytes`.', schema: text },
  'x-ratelimit-limit': { description: 'Requests an account may make in an hour.', schema: count },
  'x-ratelimit-remaining': { description: 'How many are left.', schema: count },
  'x-ratelimit-used': { description: 'How many were made.', schema: count },
  'x-ratelimit-reset': {
    description: 'When it starts anew, in seconds since 1970.',
    schema: count,
  },
  'x-ratelimit-resource': { description: 'Always `core`.', schema: text },
  'request-id': { description: 'By which the log of the server knows the request.', schema: text },
  'media-type': { description: 'What was spoken, `github.v3; format=json` say.', schema: text },
  'version-selected': { description: 'Which version of the API answered.', schema: text },
}
