import type * as wire from '../wire/types.ts'

/**
 * Of what servers of this API answer, the parts that are read here: those that every server sends, and those that Godwit adds.
 * Whatever else they say is handed on as it came.
 */
export type MigrationJson = Pick<
  wire.Migration,
  'id' | 'guid' | 'lock_repositories' | 'created_at' | 'updated_at' | 'archive_url'
> & { state: string; repositories: RepositoryJson[]; owner?: { login?: string } }

export type RepositoryJson = Pick<wire.ExtendedRepository, 'full_name' | 'private'> &
  Partial<Pick<wire.ExtendedRepository, 'size' | 'default_branch'>> & {
    pushed_at?: string | null
    permissions?: { admin?: boolean }
  }

/** What may be said when a migration is started. `allow_partial` is Godwit's own. */
export const startFlags = {
  lock_repositories: 'refuse pushes to the repositories until they are unlocked',
  exclude_metadata: 'exclude metadata of the repositories',
  exclude_git_data: 'exclude the git repositories',
  exclude_attachments: 'exclude attachments',
  exclude_releases: 'exclude releases',
  exclude_owner_projects: 'exclude projects of the owner',
  org_metadata_only: 'export only metadata of organizations, no repositories',
  allow_partial: 'skip repositories that cannot be exported, instead of failing (Godwit only)',
} as const

export type StartFlag = keyof typeof startFlags

export type StartJson = wire.StartRequest
export type ForecastJson = wire.Forecast
export type RepositoryProgressJson = wire.RepositoryProgress
export type ServiceStateJson = Pick<wire.ServiceState, 'queue' | 'running'>
export type TokenJson = wire.Token
export type RetryForecastJson = wire.RetryForecast
export type RetryJson = wire.RetryRequest
export type SummaryJson = Pick<wire.Summary, 'id' | 'created_at' | 'repositories' | 'archive'> & {
  state: string
}
export type ScheduleRunJson = wire.ScheduleRun
export type ScheduleJson = wire.Schedule
export type NewScheduleJson = wire.ScheduleRequest
export type ScheduleChangeJson = wire.ScheduleChange
export type WebhookJson = Pick<wire.Webhook, 'id' | 'active' | 'config'> & {
  events: string[]
} & Partial<Pick<wire.Webhook, 'last_response' | 'disabled_reason'>>
export type NewWebhookJson = wire.WebhookRequest
export type WebhookChangeJson = wire.WebhookChange
export type DeliveryJson = Pick<
  wire.WebhookDelivery,
  'id' | 'guid' | 'delivered_at' | 'redelivery' | 'status' | 'status_code' | 'action'
> & { event: string; duration: number } & Partial<
    Pick<wire.WebhookDelivery, 'state' | 'next_attempt_at'>
  >
export type FullDeliveryJson = DeliveryJson &
  Pick<wire.FullWebhookDelivery, 'request' | 'response'> & { url?: string }
export type TotalsJson = wire.Progress['totals']
export type EndJson = Pick<wire.ProgressEnd, 'reason'> & { state: string }

export const hasEnded = ({ state }: { state: string }): boolean =>
  state === 'exported' || state === 'failed' || state === 'cancelled'
