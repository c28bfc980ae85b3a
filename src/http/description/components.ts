import { errorSchema, validationErrorSchema } from '../door/error-schema.ts'
import { rateLimitSchema } from '../door/rate-limit-schema.ts'
import { migrationSchema } from '../migrations/migration-schema.ts'
import {
  forecastSchema,
  progressSchema,
  reportSchema,
  repositoryProgressSchema,
  retryForecastSchema,
} from '../migrations/progress-schema.ts'
import { startBodySchema } from '../migrations/start-request.ts'
import {
  archiveLinkSchema,
  heldLockSchema,
  lockSchema,
  summarySchema,
} from '../migrations/summary-schema.ts'
import {
  fullOrganizationSchema,
  organizationMembershipSchema,
  organizationSchema,
} from '../organizations/organization-schema.ts'
import {
  extendedRepositorySchema,
  licenseSchema,
  repositorySchema,
} from '../repositories/repository-schema.ts'
import {
  branchSchema,
  collaboratorSchema,
  fullRepositorySchema,
  languagesSchema,
  licenseContentSchema,
  tagSchema,
  topicsSchema,
} from '../repositories/repository-views-schema.ts'
import {
  scheduleBodySchema,
  scheduleChangeSchema,
  scheduleRunSchema,
  scheduleSchema,
} from '../schedules/schedule-schema.ts'
import { licenseTextSchema } from '../service/license-schema.ts'
import { rootSchema } from '../service/root-schema.ts'
import { serviceStateSchema, tokenSchema } from '../service/service-state-schema.ts'
import { currentUserSchema, sessionSchema, userSchema } from '../service/user-schema.ts'
import {
  fullWebhookDeliverySchema,
  webhookConfigSchema,
  webhookDeliverySchema,
  webhookEventSchema,
  webhookSchema,
} from '../webhooks/webhook-schema.ts'
import { address, count, integer, listOf, text } from './json-schema.ts'

/** What operations refer to by name, so that each thing is said once. */
export const schemas = {
  'start-request': startBodySchema,
  migration: migrationSchema,
  repository: repositorySchema,
  'extended-repository': extendedRepositorySchema,
  'full-repository': fullRepositorySchema,
  branch: branchSchema,
  tag: tagSchema,
  topics: topicsSchema,
  languages: languagesSchema,
  collaborator: collaboratorSchema,
  'license-content': licenseContentSchema,
  license: licenseSchema,
  'license-text': licenseTextSchema,
  progress: progressSchema,
  'repository-progress': repositoryProgressSchema,
  report: reportSchema,
  forecast: forecastSchema,
  'retry-forecast': retryForecastSchema,
  summary: summarySchema,
  lock: lockSchema,
  'held-lock': heldLockSchema,
  'archive-link': archiveLinkSchema,
  schedule: scheduleSchema,
  'schedule-run': scheduleRunSchema,
  'schedule-request': scheduleBodySchema,
  'schedule-change': scheduleChangeSchema,
  user: userSchema,
  'current-user': currentUserSchema,
  session: sessionSchema,
  organization: organizationSchema,
  'full-organization': fullOrganizationSchema,
  'organization-membership': organizationMembershipSchema,
  webhook: webhookSchema,
  'webhook-event': webhookEventSchema,
  'webhook-config': webhookConfigSchema,
  'webhook-delivery': webhookDeliverySchema,
  'full-webhook-delivery': fullWebhookDeliverySchema,
  'rate-limit': rateLimitSchema,
  root: rootSchema,
  'service-state': serviceStateSchema,
  token: tokenSchema,
  error: errorSchema,
  'validation-error': validationErrorSchema,
}

const lenient = 'Invalid values are ignored.'

export const parameters = {
  'migration-id': {
    name: 'migration_id',
    in: 'path',
    required: true,
    description: 'ID of a migration.',
    schema: integer,
    example: 79,
  },
  'schedule-id': {
    name: 'schedule_id',
    in: 'path',
    required: true,
    description: 'ID of a schedule.',
    schema: integer,
    example: 3,
  },
  org: {
    name: 'org',
    in: 'path',
    required: true,
    description: 'Login of an organization; case is ignored.',
    schema: text,
    example: 'octo',
  },
  'organization-id': {
    name: 'organization_id',
    in: 'path',
    required: true,
    description: 'ID of an organization.',
    schema: integer,
    example: 12,
  },
  owner: {
    name: 'owner',
    in: 'path',
    required: true,
    description: 'Login of the owner; case is ignored.',
    schema: text,
    example: 'alice',
  },
  repo: {
    name: 'repo',
    in: 'path',
    required: true,
    description: 'Name of the repository, without `.git`; case is ignored.',
    schema: text,
    example: 'atlas',
  },
  username: {
    name: 'username',
    in: 'path',
    required: true,
    description: 'Login of a person or an organization; case is ignored.',
    schema: text,
    example: 'alice',
  },
  license: {
    name: 'license',
    in: 'path',
    required: true,
    description: 'Key of a licence: its SPDX identifier; case is ignored.',
    schema: text,
    example: 'mit',
  },
  'repo-name': {
    name: 'repo_name',
    in: 'path',
    required: true,
    description: 'Name of a repository, or `owner%2Fname`.',
    schema: text,
    example: 'atlas',
  },
  'hook-id': {
    name: 'hook_id',
    in: 'path',
    required: true,
    description: 'ID of a webhook.',
    schema: integer,
    example: 3,
  },
  'delivery-id': {
    name: 'delivery_id',
    in: 'path',
    required: true,
    description: 'ID of a delivery.',
    schema: integer,
    example: 41,
  },
  page: {
    name: 'page',
    in: 'query',
    description: `Number of the page; default 1. ${lenient}`,
    schema: { ...integer, minimum: 1, default: 1 },
  },
  'per-page': {
    name: 'per_page',
    in: 'query',
    description: `Entries per page, at most 100; default 30. ${lenient}`,
    schema: { ...integer, minimum: 1, maximum: 100, default: 30 },
  },
  exclude: {
    name: 'exclude',
    in: 'query',
    description:
      'Parts to exclude from the answer. Can be separated by commas, repeated, or written as `exclude[]`. Other values are ignored.',
    schema: listOf({ ...text, enum: ['repositories'] }),
    style: 'form',
    explode: false,
  },
  'if-none-match': {
    name: 'if-none-match',
    in: 'header',
    description:
      'The `etag` of an earlier answer. If nothing has changed, the answer is 304 and does not count.',
    schema: text,
  },
}

export const headers = {
  etag: { description: 'Send it back as `if-none-match`.', schema: text },
  link: {
    description:
      'Addresses of the `prev`, `next`, `last` and `first` page. Missing if there is only one page.',
    schema: text,
  },
  'x-total-count': { description: 'Total number of entries on all pages.', schema: count },
  location: { description: 'The address.', schema: address },
  'retry-after': { description: 'Seconds to wait before the next try.', schema: count },
  'content-range': { description: 'The range of bytes, and the total size.', schema: text },
  'content-disposition': { description: 'A file name.', schema: text },
  'accept-ranges': { description: 'Always `bytes`.', schema: text },
  'x-ratelimit-limit': { description: 'Maximum number of requests per hour.', schema: count },
  'x-ratelimit-remaining': { description: 'Requests left in this hour.', schema: count },
  'x-ratelimit-used': { description: 'Requests used in this hour.', schema: count },
  'x-ratelimit-reset': {
    description: 'Time when the limit is reset, in seconds since 1970 (UTC).',
    schema: count,
  },
  'x-ratelimit-resource': { description: 'Always `core`.', schema: text },
  'request-id': { description: 'ID of the request in the log of the server.', schema: text },
  'media-type': {
    description: 'Media type of the answer, such as `github.v3; format=json`.',
    schema: text,
  },
  'version-selected': { description: 'Version of the API that was used.', schema: text },
}
