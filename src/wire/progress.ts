import { shownStates } from './migration.ts'
import {
  arrayOf,
  boolean,
  count,
  dateTime,
  each,
  enumOf,
  integer,
  nullable,
  number,
  object,
  ref,
  request,
  type Static,
  string,
  uuid,
} from './schema.ts'

const countOrNull = nullable(count)
const repositoryStates = ['waiting', 'exporting', 'exported', 'skipped', 'failed'] as const

const archiveWarnings = {
  ...arrayOf(string),
  description:
    "Warnings about the archive as a whole, such as damaged data, a size that GitHub's importers refuse, or one that the disk has no space for.",
}

export const totalsSchema = object({
  ...each(['repositories', 'exported', 'reused', 'skipped', 'failed'], count),
  ...each(['remaining', 'bytes_done'], count),
  bytes_expected: {
    ...count,
    description:
      'From the catalogue, until the repositories have been examined. Without skipped and failed ones.',
  },
  bytes_per_second: {
    ...countOrNull,
    description: 'Average of the whole export, without reused repositories.',
  },
  seconds_left: { ...countOrNull, description: 'Null while no estimate is possible.' },
  records_done: { ...count, description: 'Issues and pull requests that were read of the forge.' },
  records_expected: { ...count, description: 'As far as they are known.' },
  waiting_until: {
    ...nullable(dateTime),
    description: 'When the forge can be asked again; null if nothing waits for that.',
  },
})

const records = {
  ...nullable(
    object({
      ...each(['done', 'expected'], count),
      as_of: { ...nullable(dateTime), description: 'The records are at least as new as this.' },
      waiting_until: { ...nullable(dateTime), description: 'When the forge can be asked again.' },
      waiting_for: { ...nullable(string), description: 'Why the forge cannot be asked now.' },
      notes: { ...arrayOf(string), description: 'What the forge does not give.' },
    }),
  ),
  description:
    'Issues and pull requests of the forge; null if there is no forge, or they have not been read yet.',
}

export const repositoryProgressSchema = object(
  {
    full_name: string,
    state: {
      ...enumOf(repositoryStates),
      description:
        '`failed` if the migration fails because of it; `skipped` if the migration allows partial archives.',
    },
    bytes_done: count,
    bytes_expected: {
      ...count,
      description: 'From the catalogue, until the repository has been examined.',
    },
    reused: { ...boolean, description: 'Exported before and unchanged since then.' },
    reason: { ...nullable(string), description: 'Why it was skipped or failed.' },
    warning: {
      ...nullable(string),
      description:
        "A warning about an exported repository, such as missing LFS objects, or what GitHub's importers refuse.",
    },
    started_at: nullable(dateTime),
    finished_at: nullable(dateTime),
    records,
  },
  { description: 'The progress of one repository of a migration.' },
)

export const progressSchema = object(
  {
    state: enumOf(shownStates),
    reason: { ...nullable(string), description: 'Why it failed.' },
    started_at: nullable(dateTime),
    ended_at: nullable(dateTime),
    totals: totalsSchema,
    repositories: arrayOf(ref<RepositoryProgress>('repository-progress')),
  },
  { description: 'The progress of a migration.' },
)

export const progressUpdateSchema = object(
  {
    ...totalsSchema.properties,
    state: progressSchema.properties.state,
    started_at: progressSchema.properties.started_at,
    under_way: {
      ...arrayOf(ref<RepositoryProgress>('repository-progress')),
      description: 'The repositories that are being exported.',
    },
  },
  { description: 'The data of an event `progress`.' },
)

export const progressEndSchema = object(
  { state: progressSchema.properties.state, reason: progressSchema.properties.reason },
  { description: 'The data of an event `end`.' },
)

export const reportSchema = object(
  {
    id: integer,
    guid: uuid,
    login: string,
    seconds: { ...nullable(number), minimum: 0, description: 'Null before it has started.' },
    warnings: archiveWarnings,
    ...progressSchema.properties,
  },
  { description: 'The result of a migration.' },
)

export const forecastRepositorySchema = object({
  full_name: string,
  ...each(['bytes', 'lfs_bytes'], count),
  reused: {
    ...boolean,
    description: 'Exported before and unchanged since then: it will be reused.',
  },
  reason: { ...nullable(string), description: 'Why it would be skipped.' },
  warning: {
    ...nullable(string),
    description: 'A warning about a repository that can be exported.',
  },
})

export const forecastSchema = object(
  {
    repositories: arrayOf(forecastRepositorySchema),
    bytes_to_write: count,
    free_bytes: {
      ...countOrNull,
      description: 'Free disk space for archives; null if unknown, or if a bucket is used.',
    },
    estimated_seconds: {
      ...countOrNull,
      description: 'Null if there is no earlier export to estimate from.',
    },
    warnings: archiveWarnings,
  },
  { description: 'An estimate of a migration.' },
)

export const brokenRepositorySchema = object({
  full_name: string,
  reason: string,
  gone: {
    ...boolean,
    description:
      'Whether the repository no longer exists, or may no longer be migrated. With `allow_partial` it is skipped, without it a retry is refused.',
  },
  changed: {
    ...nullable(boolean),
    description: 'Whether the repository has changed since then. Null if unknown.',
  },
})

export const retryForecastSchema = object(
  {
    broken: {
      ...arrayOf(brokenRepositorySchema),
      description: 'The repositories that could not be exported, and those that are gone.',
    },
    unchanged: {
      ...boolean,
      description: 'None of them has changed: a retry would end in the same way.',
    },
  },
  { description: 'What a retry of a migration has to expect.' },
)

export const retryRequestSchema = request(
  {
    allow_partial: {
      ...boolean,
      default: false,
      description: 'Skip repositories that cannot be exported, instead of failing.',
    },
  },
  { examples: [{ allow_partial: true }] },
)

export type RepositoryProgress = Static<typeof repositoryProgressSchema>
export type Progress = Static<typeof progressSchema>
export type ProgressUpdate = Static<typeof progressUpdateSchema>
export type ProgressEnd = Static<typeof progressEndSchema>
export type Report = Static<typeof reportSchema>
export type Forecast = Static<typeof forecastSchema>
export type RetryForecast = Static<typeof retryForecastSchema>
export type RetryRequest = Static<typeof retryRequestSchema>
