import { errorSchema, validationErrorSchema } from '../../wire/error.ts'
import { licenseSchema, licenseTextSchema } from '../../wire/license.ts'
import {
  archiveLinkSchema,
  heldLockSchema,
  lockSchema,
  migrationSchema,
  startRequestSchema,
  summarySchema,
} from '../../wire/migration.ts'
import {
  fullOrganizationSchema,
  organizationMembershipSchema,
  organizationSchema,
} from '../../wire/organization.ts'
import {
  forecastSchema,
  progressEndSchema,
  progressSchema,
  progressUpdateSchema,
  reportSchema,
  repositoryProgressSchema,
  retryForecastSchema,
  retryRequestSchema,
} from '../../wire/progress.ts'
import {
  branchSchema,
  collaboratorSchema,
  extendedRepositorySchema,
  fullRepositorySchema,
  languagesSchema,
  licenseContentSchema,
  repositorySchema,
  tagSchema,
  topicsSchema,
} from '../../wire/repository.ts'
import {
  scheduleChangeSchema,
  scheduleRequestSchema,
  scheduleRunSchema,
  scheduleSchema,
} from '../../wire/schedule.ts'
import { count, string, uri } from '../../wire/schema.ts'
import { rootSchema, serviceStateSchema, tokenSchema } from '../../wire/service.ts'
import { currentUserSchema, rateLimitSchema, sessionSchema, userSchema } from '../../wire/user.ts'
import {
  fullWebhookDeliverySchema,
  webhookChangeSchema,
  webhookConfigChangeSchema,
  webhookConfigSchema,
  webhookDeliverySchema,
  webhookEventSchema,
  webhookRequestSchema,
  webhookSchema,
} from '../../wire/webhook.ts'

/** The schemas that operations refer to by name. */
export const schemas = {
  'start-request': startRequestSchema,
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
  'progress-update': progressUpdateSchema,
  'progress-end': progressEndSchema,
  'repository-progress': repositoryProgressSchema,
  report: reportSchema,
  forecast: forecastSchema,
  'retry-forecast': retryForecastSchema,
  'retry-request': retryRequestSchema,
  summary: summarySchema,
  lock: lockSchema,
  'held-lock': heldLockSchema,
  'archive-link': archiveLinkSchema,
  schedule: scheduleSchema,
  'schedule-run': scheduleRunSchema,
  'schedule-request': scheduleRequestSchema,
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
  'webhook-request': webhookRequestSchema,
  'webhook-change': webhookChangeSchema,
  'webhook-config-change': webhookConfigChangeSchema,
  'webhook-delivery': webhookDeliverySchema,
  'full-webhook-delivery': fullWebhookDeliverySchema,
  'rate-limit': rateLimitSchema,
  root: rootSchema,
  'service-state': serviceStateSchema,
  token: tokenSchema,
  error: errorSchema,
  'validation-error': validationErrorSchema,
}

export const headers = {
  etag: { description: 'Send it back as `if-none-match`.', schema: string },
  link: {
    description:
      'Addresses of the `prev`, `next`, `last` and `first` page. Missing if there is only one page.',
    schema: string,
  },
  'x-total-count': { description: 'Total number of entries on all pages.', schema: count },
  location: { description: 'The address.', schema: uri },
  'retry-after': { description: 'Seconds to wait before the next try.', schema: count },
  'content-range': { description: 'The range of bytes, and the total size.', schema: string },
  'content-disposition': { description: 'A file name.', schema: string },
  'accept-ranges': { description: 'Always `bytes`.', schema: string },
  'x-ratelimit-limit': { description: 'Maximum number of requests per hour.', schema: count },
  'x-ratelimit-remaining': { description: 'Requests left in this hour.', schema: count },
  'x-ratelimit-used': { description: 'Requests used in this hour.', schema: count },
  'x-ratelimit-reset': {
    description: 'Time when the limit is reset, in seconds since 1970 (UTC).',
    schema: count,
  },
  'x-ratelimit-resource': { description: 'Always `core`.', schema: string },
  'request-id': { description: 'ID of the request in the log of the server.', schema: string },
  'media-type': {
    description: 'Media type of the answer, such as `github.v3; format=json`.',
    schema: string,
  },
  'version-selected': { description: 'Version of the API that was used.', schema: string },
}
