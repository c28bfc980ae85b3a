import * as S from '../schemas/schema.ts'
import * as wire from '../schemas/types.ts'

/**
 * The parts of responses that the client reads. A server that does not send them is not a server of this API. Everything else that
 * a server sends is passed on unchanged.
 */

export const anyObject: S.Schema<Record<string, unknown>> = { type: 'object' }

/** Checks only the type of a value, not its properties or elements. */
const outermost = <Given extends S.Schema>({ type }: Given): S.Schema<S.Static<Given>> => ({
  type,
})

export const userResponse = S.pick(wire.userSchema, ['login'])

export const membershipResponse = S.object({
  role: S.string,
  organization: S.pick(wire.organizationSchema, ['login']),
})

export const repositoryResponse = S.pick(
  wire.extendedRepositorySchema,
  ['full_name'],
  ['private', 'size', 'default_branch', 'pushed_at', 'permissions'],
)
export type RepositoryResponse = S.Static<typeof repositoryResponse>

/** Every response about a migration has an id and a state. */
export const statusResponse = S.pick(wire.migrationSchema, ['id', 'state'], ['owner', 'created_at'])

export const migrationResponse = S.pick(
  S.object({ ...wire.migrationSchema.properties, repositories: S.arrayOf(repositoryResponse) }),
  ['id', 'guid', 'state', 'created_at', 'updated_at', 'repositories'],
  ['owner', 'archive_url', 'lock_repositories'],
)
export type MigrationResponse = S.Static<typeof migrationResponse>

export const forecastResponse = S.pick(
  S.object({
    ...wire.forecastSchema.properties,
    repositories: S.arrayOf(
      S.pick(wire.forecastRepository, ['full_name', 'bytes'], ['reused', 'reason', 'warning']),
    ),
  }),
  ['repositories', 'bytes_to_write'],
  ['free_bytes', 'estimated_seconds', 'warnings'],
)
export type ForecastResponse = S.Static<typeof forecastResponse>

export const repositoryProgressResponse = S.pick(
  wire.repositoryProgressSchema,
  ['full_name', 'state', 'bytes_done'],
  ['phase', 'reason', 'warning', 'missing_lfs_objects', 'reused', 'records'],
)
export type RepositoryProgressResponse = S.Static<typeof repositoryProgressResponse>

export const reportResponse = S.object({ repositories: S.arrayOf(repositoryProgressResponse) })

export const retryForecastResponse = S.pick(
  S.object({
    ...wire.retryForecastSchema.properties,
    broken: S.arrayOf(S.pick(wire.brokenRepository, ['full_name', 'reason'], ['gone', 'changed'])),
  }),
  ['broken'],
  ['unchanged'],
)
export type RetryForecastResponse = S.Static<typeof retryForecastResponse>

export const totalsResponse = S.pick(
  S.object({
    ...wire.progressUpdateSchema.properties,
    under_way: S.arrayOf(repositoryProgressResponse),
  }),
  ['repositories', 'exported', 'skipped', 'remaining', 'bytes_done'],
  [
    ...(['failed', 'incomplete', 'bytes_expected', 'bytes_per_second', 'seconds_left'] as const),
    ...(['records_done', 'records_expected', 'waiting_until'] as const),
    ...(['stalled_since', 'waiting_for'] as const),
    ...(['phase', 'percent', 'under_way'] as const),
  ],
)
export type TotalsResponse = S.Static<typeof totalsResponse>

/** `state` is any text: servers other than Godwit may have further states. */
export const endResponse = S.object(
  { state: S.string, reason: wire.progressEndSchema.properties.reason },
  { optional: ['reason'] },
)
export type EndResponse = S.Static<typeof endResponse>

export const summaryResponse = S.pick(
  S.object({
    ...wire.summarySchema.properties,
    repositories: S.pick(wire.repositoryCounts, ['total', 'exported', 'skipped'], ['incomplete']),
  }),
  ['id', 'state', 'created_at', 'repositories'],
  ['name', 'reason', 'archive'],
)
export type SummaryResponse = S.Static<typeof summaryResponse>

export const scheduleRunResponse = S.pick(
  wire.scheduleRunSchema,
  ['created_at', 'state', 'skipped_repositories', 'migration_id', 'reason'],
  ['has_archive'],
)
export type ScheduleRunResponse = S.Static<typeof scheduleRunResponse>

export const scheduleResponse = S.pick(
  S.object({ ...wire.scheduleSchema.properties, last_run: S.nullable(scheduleRunResponse) }),
  [
    ...(['id', 'owner', 'created_by', 'repositories', 'every', 'at', 'time_zone', 'keep'] as const),
    ...(['next_run_at', 'paused_reason', 'last_run', 'protected_archives'] as const),
  ],
  ['weekday', 'all', 'name'],
)
export type ScheduleResponse = S.Static<typeof scheduleResponse>

export const webhookResponse = S.pick(
  wire.webhookSchema,
  ['id', 'active', 'events', 'config'],
  ['last_response', 'disabled_reason'],
)
export type WebhookResponse = S.Static<typeof webhookResponse>

const requiredDeliveryFields = ['id', 'guid', 'delivered_at', 'status', 'event'] as const
const optionalDeliveryFields = [
  'redelivery',
  'duration',
  'action',
  'state',
  'next_attempt_at',
] as const
export const deliveryResponse = S.pick(
  wire.webhookDeliverySchema,
  requiredDeliveryFields,
  optionalDeliveryFields,
)
export type DeliveryResponse = S.Static<typeof deliveryResponse>
export const fullDeliveryResponse = S.pick(
  S.object({
    ...wire.fullWebhookDeliverySchema.properties,
    request: outermost(wire.fullWebhookDeliverySchema.properties.request),
    response: outermost(wire.fullWebhookDeliverySchema.properties.response),
  }),
  [...requiredDeliveryFields, 'request', 'response'],
  optionalDeliveryFields,
)
export type FullDeliveryResponse = S.Static<typeof fullDeliveryResponse>

export const serviceResponse = S.object({
  queue: outermost(wire.serviceStateSchema.properties.queue),
  running: outermost(wire.serviceStateSchema.properties.running),
})
export type ServiceResponse = S.Static<typeof serviceResponse>
export const tokenResponse = S.pick(
  wire.tokenSchema,
  ['id', 'login', 'name'],
  [
    ...(['created_at', 'expires_at', 'last_used_at', 'last_used_ip', 'revoked_at'] as const),
    ...(['read_only', 'organization', 'current'] as const),
  ],
)
export type TokenResponse = S.Static<typeof tokenResponse>

export const hasEnded = ({ state }: { state: string }): boolean =>
  state === 'exported' || state === 'failed' || state === 'cancelled'

/** Help texts of the options of a start. Only Godwit servers have `allow_partial`. */
export const startFlagHelp: Record<wire.StartFlag, string> = {
  lock_repositories: 'refuse pushes to the repositories until they are unlocked',
  exclude_metadata: 'exclude metadata of the repositories',
  exclude_git_data: 'exclude the git repositories',
  exclude_attachments: 'exclude attachments',
  exclude_releases: 'exclude releases',
  exclude_owner_projects: 'exclude projects of the owner',
  org_metadata_only: 'export only metadata of organizations, no repositories',
  allow_partial: 'skip repositories that cannot be exported, instead of failing (Godwit only)',
}
