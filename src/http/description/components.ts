import * as audit from '../../wire/audit.ts'
import * as error from '../../wire/error.ts'
import * as license from '../../wire/license.ts'
import * as migration from '../../wire/migration.ts'
import * as organization from '../../wire/organization.ts'
import * as progress from '../../wire/progress.ts'
import * as repository from '../../wire/repository.ts'
import * as schedule from '../../wire/schedule.ts'
import { count, string, uri } from '../../wire/schema.ts'
import * as service from '../../wire/service.ts'
import * as token from '../../wire/token.ts'
import * as user from '../../wire/user.ts'
import * as webhook from '../../wire/webhook.ts'

/** The schemas that operations refer to by name. */
export const schemas = {
  'start-request': migration.startRequestSchema,
  migration: migration.migrationSchema,
  repository: repository.repositorySchema,
  'extended-repository': repository.extendedRepositorySchema,
  'full-repository': repository.fullRepositorySchema,
  branch: repository.branchSchema,
  tag: repository.tagSchema,
  topics: repository.topicsSchema,
  languages: repository.languagesSchema,
  collaborator: repository.collaboratorSchema,
  'license-content': repository.licenseContentSchema,
  license: license.licenseSchema,
  'license-text': license.licenseTextSchema,
  progress: progress.progressSchema,
  'progress-update': progress.progressUpdateSchema,
  'progress-end': progress.progressEndSchema,
  'repository-progress': progress.repositoryProgressSchema,
  report: progress.reportSchema,
  forecast: progress.forecastSchema,
  quota: progress.quotaSchema,
  'retry-forecast': progress.retryForecastSchema,
  'retry-request': progress.retryRequestSchema,
  summary: migration.summarySchema,
  lock: migration.lockSchema,
  'lock-with-migration': migration.lockWithMigrationSchema,
  'archive-link': migration.archiveLinkSchema,
  schedule: schedule.scheduleSchema,
  'schedule-run': schedule.scheduleRunSchema,
  'schedule-request': schedule.scheduleRequestSchema,
  'schedule-change': schedule.scheduleChangeSchema,
  user: user.userSchema,
  'current-user': user.currentUserSchema,
  session: user.sessionSchema,
  organization: organization.organizationSchema,
  'full-organization': organization.fullOrganizationSchema,
  'organization-membership': organization.organizationMembershipSchema,
  webhook: webhook.webhookSchema,
  'webhook-event': webhook.webhookEventSchema,
  'webhook-config': webhook.webhookConfigSchema,
  'webhook-request': webhook.webhookRequestSchema,
  'webhook-change': webhook.webhookChangeSchema,
  'webhook-config-change': webhook.webhookConfigChangeSchema,
  'webhook-delivery': webhook.webhookDeliverySchema,
  'full-webhook-delivery': webhook.fullWebhookDeliverySchema,
  'rate-limit': user.rateLimitSchema,
  root: service.rootSchema,
  'service-state': service.serviceStateSchema,
  'sync-request': service.syncRequestSchema,
  'sync-report': service.syncReportSchema,
  token: token.tokenSchema,
  'new-token': token.newTokenSchema,
  'token-request': token.tokenRequestSchema,
  'audit-entry': audit.auditEntrySchema,
  error: error.errorSchema,
  'validation-error': error.validationErrorSchema,
}

export const headers = {
  etag: { description: 'Send it back as `if-none-match`.', schema: string },
  link: {
    description:
      'URLs of the `prev`, `next`, `last` and `first` page. Missing if there is only one page.',
    schema: string,
  },
  'x-total-count': { description: 'Total number of entries on all pages.', schema: count },
  location: { description: 'The URL.', schema: uri },
  'retry-after': { description: 'Seconds to wait before the next attempt.', schema: count },
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
    description: 'Media type of the response, such as `github.v3; format=json`.',
    schema: string,
  },
  'version-selected': { description: 'Version of the API that was used.', schema: string },
}
