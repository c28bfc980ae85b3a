import type {
  DeliveryJson,
  EndJson,
  ForecastJson,
  FullDeliveryJson,
  MigrationJson,
  RepositoryJson,
  RepositoryProgressJson,
  RetryForecastJson,
  ScheduleJson,
  ScheduleRunJson,
  ServiceStateJson,
  SummaryJson,
  TokenJson,
  TotalsJson,
  WebhookJson,
} from './wire.ts'

/** Whether an answer has what is read of it here; a server may say more. */
export type Shape<T> = (value: unknown) => value is T

type Field = (value: unknown) => boolean

const text: Field = (value) => typeof value === 'string'
const number: Field = (value) => typeof value === 'number'
const orNothing =
  (field: Field): Field =>
  (value) =>
    value === undefined || value === null || field(value)

function record<T>(fields: Partial<Record<keyof T, Field>>): Shape<T> {
  return (value): value is T =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries<Field | undefined>(fields).every(([name, field]) =>
      field!((value as Record<string, unknown>)[name]),
    )
}

export const listOf =
  <T>(shape: Shape<T>): Shape<T[]> =>
  (value): value is T[] =>
    Array.isArray(value) && value.every(shape)

const anyText = (value: unknown): value is string => typeof value === 'string'

export const anyRecord = record<Record<string, unknown>>({})

export const repositoryShape = record<RepositoryJson>({
  full_name: text,
  size: orNothing(number),
  default_branch: orNothing(text),
  pushed_at: orNothing(text),
  permissions: orNothing(anyRecord),
})

/** What every answer about a migration has. */
export const statusShape = record<MigrationJson>({ id: number, state: text })

export const migrationShape = record<MigrationJson>({
  id: number,
  state: text,
  guid: text,
  created_at: text,
  updated_at: text,
  archive_url: orNothing(text),
  repositories: listOf(repositoryShape),
})

export const forecastShape = record<ForecastJson>({
  repositories: listOf(
    record<ForecastJson['repositories'][number]>({
      full_name: text,
      bytes: number,
      reason: orNothing(text),
    }),
  ),
  bytes_to_write: number,
  free_bytes: orNothing(number),
  estimated_seconds: orNothing(number),
})

export const repositoryProgressShape = record<RepositoryProgressJson>({
  full_name: text,
  state: text,
  bytes_done: number,
  reason: orNothing(text),
})

export const reportShape = record<{ repositories: RepositoryProgressJson[] }>({
  repositories: listOf(repositoryProgressShape),
})

export const retryForecastShape = record<RetryForecastJson>({
  broken: listOf(record<RetryForecastJson['broken'][number]>({ full_name: text, reason: text })),
})

export const serviceShape = record<ServiceStateJson>({
  queue: anyRecord,
  running: Array.isArray,
})

export const tokenShape = record<TokenJson>({ id: number, login: text, name: text })

export const totalsShape = record<TotalsJson>({
  repositories: number,
  exported: number,
  skipped: number,
  remaining: number,
  bytes_done: number,
  bytes_expected: orNothing(number),
  bytes_per_second: orNothing(number),
  seconds_left: orNothing(number),
})

export const summaryShape = record<SummaryJson>({
  id: number,
  state: text,
  created_at: text,
  archive: orNothing(anyRecord),
  repositories: record<SummaryJson['repositories']>({
    total: number,
    exported: number,
    skipped: number,
  }),
})

export const scheduleRunShape = record<ScheduleRunJson>({
  created_at: text,
  state: text,
  migration_id: orNothing(number),
  reason: orNothing(text),
  skipped_repositories: listOf(
    record<ScheduleRunJson['skipped_repositories'][number]>({ full_name: text, reason: text }),
  ),
})

export const scheduleShape = record<ScheduleJson>({
  id: number,
  owner: text,
  created_by: text,
  repositories: listOf(anyText),
  every: text,
  weekday: orNothing(text),
  at: text,
  time_zone: text,
  keep: number,
  next_run_at: orNothing(text),
  paused_reason: orNothing(text),
  last_run: orNothing(scheduleRunShape),
  protected_archives: listOf(
    record<ScheduleJson['protected_archives'][number]>({
      migration_id: number,
      created_at: text,
      repositories: listOf(anyText),
    }),
  ),
})

export const webhookShape = record<WebhookJson>({
  id: number,
  active: (value) => typeof value === 'boolean',
  events: Array.isArray,
  config: anyRecord,
})

const deliveryFields = { id: number, guid: text, delivered_at: text, status: text, event: text }

export const deliveryShape = record<DeliveryJson>(deliveryFields)

export const fullDeliveryShape = record<FullDeliveryJson>({
  ...deliveryFields,
  request: anyRecord,
  response: anyRecord,
})

export const endShape = record<EndJson>({ state: text, reason: orNothing(text) })
