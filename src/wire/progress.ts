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
    "Warnings about the archive, such as damaged data, or a size that GitHub's importers refuse or that the disk has no space for.",
}

export const totalsSchema = object({
  ...each(['repositories', 'exported', 'reused', 'skipped', 'failed'], count),
  ...each(['remaining', 'bytes_done'], count),
  bytes_expected: {
    ...count,
    description:
      'Estimated from the catalogue until the repositories have been examined. Excludes skipped and failed ones.',
  },
  bytes_per_second: {
    ...countOrNull,
    description: 'Average since the export started, excluding reused repositories.',
  },
  seconds_left: { ...countOrNull, description: 'Null while no estimate is possible.' },
  records_done: {
    ...count,
    description: 'Issues and pull requests that were read from the forge.',
  },
  records_expected: { ...count, description: 'Issues and pull requests to read, as far as known.' },
  waiting_until: {
    ...nullable(dateTime),
    description: 'When the forge accepts requests again; null if no repository is waiting for it.',
  },
})

const records = {
  ...nullable(
    object({
      ...each(['done', 'expected'], count),
      as_of: { ...nullable(dateTime), description: 'The records are at least as new as this.' },
      waiting_until: {
        ...nullable(dateTime),
        description: 'When the forge accepts requests again.',
      },
      waiting_for: { ...nullable(string), description: 'Why the forge refuses requests now.' },
      notes: { ...arrayOf(string), description: 'Records that the forge does not provide.' },
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
      description: 'Estimated from the catalogue until the repository has been examined.',
    },
    reused: { ...boolean, description: 'Unchanged since an earlier export, which was reused.' },
    reason: { ...nullable(string), description: 'Why it was skipped or failed.' },
    warning: {
      ...nullable(string),
      description:
        "A warning about an exported repository, such as missing LFS objects, or what GitHub's importers refuse.",
    },
    ...each(['started_at', 'finished_at'], nullable(dateTime)),
    records,
  },
  { description: 'The progress of one repository of a migration.' },
)

export const progressSchema = object(
  {
    state: enumOf(shownStates),
    reason: { ...nullable(string), description: 'Why it failed.' },
    ...each(['started_at', 'ended_at'], nullable(dateTime)),
    totals: totalsSchema,
    repositories: arrayOf(ref<RepositoryProgress>('repository-progress')),
  },
  { description: 'The progress of a migration.' },
)

const { state, reason, started_at } = progressSchema.properties

export const progressUpdateSchema = object(
  {
    ...totalsSchema.properties,
    state,
    started_at,
    under_way: {
      ...arrayOf(ref<RepositoryProgress>('repository-progress')),
      description: 'The repositories that are being exported.',
    },
  },
  { description: 'The data of a `progress` event.' },
)

export const progressEndSchema = object(
  { state, reason },
  { description: 'The data of an `end` event.' },
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
  reused: { ...boolean, description: 'Unchanged since an earlier export, which will be reused.' },
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
      'Whether the repository no longer exists, or the caller may no longer migrate it. A retry with `allow_partial` skips it; any other retry is refused.',
  },
  changed: {
    ...nullable(boolean),
    description: 'Whether the repository has changed since the migration. Null if unknown.',
  },
})

export const retryForecastSchema = object(
  {
    broken: {
      ...arrayOf(brokenRepositorySchema),
      description: 'The repositories that could not be exported, and those that no longer exist.',
    },
    unchanged: {
      ...boolean,
      description: 'Whether none of them has changed, so that a retry would have the same result.',
    },
  },
  { description: 'A forecast of the retry of a migration.' },
)

export const retryRequestSchema = request(
  {
    allow_partial: {
      ...boolean,
      default: false,
      description: 'Skip repositories that cannot be exported, instead of failing the migration.',
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
