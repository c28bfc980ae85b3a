import type {
  ExtendedRepository,
  Progress,
  ServiceState,
  StartRequest,
} from '../../src/wire/types.ts'

/** What the API takes and answers: the types that its own description makes, and names for parts of them. */
export type {
  ArchiveLink,
  Branch,
  Forecast,
  FullRepository,
  FullWebhookDelivery,
  HeldLock,
  Lock,
  Migration,
  OrganizationMembership,
  Progress,
  RepositoryProgress,
  RetryForecast,
  Schedule,
  ScheduleChange,
  ScheduleRequest,
  ScheduleRun,
  ServiceState,
  Session,
  StartRequest,
  Summary,
  Tag,
  Token,
  User,
  Webhook,
  WebhookDelivery,
} from '../../src/wire/types.ts'

/** What may be said of a webhook; what is not said stays as it is. */
export interface WebhookChange {
  config?: { url?: string; content_type?: string; secret?: string }
  events?: string[]
  active?: boolean
}
export type Repository = ExtendedRepository
export type MigrationState = Progress['state']
export type Totals = Progress['totals']
export type StartOptions = Required<Omit<StartRequest, 'repositories' | 'exclude'>>
export type Period = ServiceState['throughput']['period']
export type Bucket = ServiceState['throughput']['buckets'][number]

/** There is an archive, or was, and it lacks some of the repositories that were asked for. */
export const isPartial = (state: MigrationState, { skipped }: { skipped: number }): boolean =>
  state === 'exported' && skipped > 0

export const isUnfinished = (state: MigrationState): boolean =>
  state === 'pending' || state === 'exporting'
