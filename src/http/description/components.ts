import { serviceStateSchema, tokenSchema } from '../admin/service-state-schema.ts'
import { errorSchema, validationErrorSchema } from '../door/error-schema.ts'
import { licenseSchema, licenseTextSchema } from '../licenses/license-schema.ts'
import { migrationSchema } from '../migrations/migration-schema.ts'
import {
  forecastSchema,
  progressEndSchema,
  progressSchema,
  progressUpdateSchema,
  reportSchema,
  repositoryProgressSchema,
  retryBodySchema,
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
import { extendedRepositorySchema, repositorySchema } from '../repositories/repository-schema.ts'
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
import { rootSchema } from '../service/root-schema.ts'
import {
  currentUserSchema,
  rateLimitSchema,
  sessionSchema,
  userSchema,
} from '../users/user-schema.ts'
import {
  fullWebhookDeliverySchema,
  newWebhookSchema,
  webhookChangeSchema,
  webhookConfigChangeSchema,
  webhookConfigSchema,
  webhookDeliverySchema,
  webhookEventSchema,
  webhookSchema,
} from '../webhooks/webhook-schema.ts'
import { address, count, text } from './json-schema.ts'

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
  'progress-update': progressUpdateSchema,
  'progress-end': progressEndSchema,
  'repository-progress': repositoryProgressSchema,
  report: reportSchema,
  forecast: forecastSchema,
  'retry-forecast': retryForecastSchema,
  'retry-request': retryBodySchema,
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
  'webhook-request': newWebhookSchema,
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
