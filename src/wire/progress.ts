import { shownStates } from './migration.ts'
import * as s from './schema.ts'

const repositoryStates = ['waiting', 'exporting', 'exported', 'skipped', 'failed'] as const
const repositoryPhases = ['records', 'queued', 'packing'] as const
const migrationPhases = ['waiting', 'records', 'packing', 'sealing'] as const
const SIZE =
  'Sizes are the bytes of git objects and LFS objects, of the repository and its wiki, before the archive is compressed. In a repository that is being exported, bytes are done when they are written and verified.'

const archiveWarnings = s
  .arrayOf(s.string)
  .describe(
    "Warnings about the archive, such as damaged data, or a size that GitHub's importers refuse or that the disk has no space for.",
  )

const totalsSchema = s.object({
  ...s.each(['repositories', 'exported', 'reused', 'skipped', 'failed'], s.count),
  remaining: s.count,
  phase: s
    .nullable(s.enumOf(migrationPhases))
    .describe(
      'What happens now: issues and pull requests are read (`records`), git data is written and verified (`packing`), or all repositories have ended and the archive is completed (`sealing`). Null after the end.',
    ),
  percent: s.count.describe(
    'By repositories and by bytes, equally. 100 only if the migration is exported.',
    { maximum: 100 },
  ),
  bytes_done: s.count.describe(SIZE),
  bytes_expected: s.count.describe(
    'Estimated from the catalogue until the repositories have been examined. Excludes skipped and failed ones.',
  ),
  bytes_per_second: s.countOrNull.describe(
    'Average since the first git data was written, excluding reused repositories. Null before that, and below 1 kB/s.',
  ),
  seconds_left: s.countOrNull.describe(
    'Estimated from the repositories, bytes and records that are done and left. Null while no estimate is possible: too little is done, only records were read, or the archive is being sealed.',
  ),
  records_done: s.count.describe('Issues and pull requests that were read from the forge.'),
  records_expected: s.count.describe('Issues and pull requests to read, as far as known.'),
  waiting_until: s.dateTimeOrNull.describe(
    'When the forge accepts requests again; null if no repository is waiting for it.',
  ),
})

const records = s
  .nullable(
    s.object({
      ...s.each(['done', 'expected'], s.count),
      as_of: s.dateTimeOrNull.describe('The records are at least as new as this.'),
      waiting_until: s.dateTimeOrNull.describe('When the forge accepts requests again.'),
      waiting_for: s.stringOrNull.describe('Why the forge refuses requests now.'),
      losses: s
        .arrayOf(s.object({ kind: s.string, count: s.count, examples: s.arrayOf(s.string) }))
        .describe(
          'What the forge does not provide and what archives cannot represent, counted by kind, with the first examples. Sentences have the kind `not_read`.',
        ),
    }),
  )
  .describe(
    'Issues and pull requests of the forge; null if there is no forge, or they have not been read yet.',
  )

export const repositoryProgressSchema = s.described(
  'The progress of one repository of a migration.',
  {
    full_name: s.string,
    state: s
      .enumOf(repositoryStates)
      .describe(
        '`failed` if the migration fails because of it; `skipped` if the migration allows partial archives.',
      ),
    phase: s
      .nullable(s.enumOf(repositoryPhases))
      .describe(
        'What is done with it now: its issues and pull requests are read (`records`), it waits until its git data can be exported (`queued`), or its git data is written and verified (`packing`). Null unless its state is `exporting`.',
      ),
    bytes_done: s.count.describe(SIZE),
    bytes_expected: s.count.describe(
      'Estimated from the catalogue until the repository has been examined.',
    ),
    reused: s.boolean.describe('Unchanged since an earlier export, which was reused.'),
    reason: s.stringOrNull.describe('Why it was skipped or failed.'),
    warning: s.stringOrNull.describe(
      "A warning about an exported repository, such as missing LFS objects, or what GitHub's importers refuse.",
    ),
    ...s.each(['started_at', 'finished_at'], s.dateTimeOrNull),
    records,
  },
)

export const progressSchema = s.described('The progress of a migration.', {
  state: s.enumOf(shownStates),
  reason: s.stringOrNull.describe('Why it failed.'),
  ...s.each(['started_at', 'ended_at'], s.dateTimeOrNull),
  totals: totalsSchema,
  repositories: s.arrayOf(s.ref<RepositoryProgress>('repository-progress')),
})

const { state, reason, started_at } = progressSchema.properties

export const progressUpdateSchema = s.described('The data of a `progress` event.', {
  ...totalsSchema.properties,
  state,
  started_at,
  under_way: s
    .arrayOf(s.ref<RepositoryProgress>('repository-progress'))
    .describe('The repositories that are being exported.'),
})

export const progressEndSchema = s.described('The data of an `end` event.', { state, reason })

export const reportSchema = s.described('The result of a migration.', {
  id: s.integer,
  guid: s.uuid,
  login: s.string,
  seconds: s.nullable(s.number).describe('Null before it has started.', { minimum: 0 }),
  warnings: archiveWarnings,
  ...progressSchema.properties,
})

export const forecastRepository = s.object({
  full_name: s.string,
  ...s.each(['bytes', 'lfs_bytes'], s.count),
  reused: s.boolean.describe('Unchanged since an earlier export, which will be reused.'),
  reason: s.stringOrNull.describe('Why it would be skipped.'),
  warning: s.stringOrNull.describe('A warning about a repository that can be exported.'),
})

export const quotaSchema = s.described(
  'What the archives of an owner may add up to, and what they do.',
  {
    max_bytes: s.countOrNull.describe('Null if there is no quota.'),
    used_bytes: s.count.describe(
      'The sum of what the downloads of all archives have. What two archives share counts in both.',
    ),
  },
)

export const forecastSchema = s.described('An estimate of a migration.', {
  repositories: s.arrayOf(forecastRepository),
  bytes_to_write: s.count,
  free_bytes: s.countOrNull.describe(
    'Free disk space for archives; null if unknown, or if a bucket is used.',
  ),
  estimated_seconds: s.countOrNull.describe('Null if there is no earlier export to estimate from.'),
  quota: quotaSchema,
  warnings: archiveWarnings,
})

export const brokenRepository = s.object({
  full_name: s.string,
  reason: s.string,
  gone: s.boolean.describe(
    'Whether the repository no longer exists, or the caller may no longer migrate it. A retry with `allow_partial` skips it; any other retry is refused.',
  ),
  changed: s
    .nullable(s.boolean)
    .describe('Whether the repository has changed since the migration. Null if unknown.'),
})

export const retryForecastSchema = s.described('A forecast of the retry of a migration.', {
  broken: s
    .arrayOf(brokenRepository)
    .describe('The repositories that could not be exported, and those that no longer exist.'),
  unchanged: s.boolean.describe(
    'Whether none of them has changed, so that a retry would have the same result.',
  ),
})

export const retryRequestSchema = s.request(
  {
    allow_partial: s.boolean.describe(
      'Skip repositories that cannot be exported, instead of failing the migration.',
      { default: false },
    ),
  },
  { examples: [{ allow_partial: true }] },
)

export type RepositoryProgress = s.Static<typeof repositoryProgressSchema>
export type Progress = s.Static<typeof progressSchema>
export type ProgressUpdate = s.Static<typeof progressUpdateSchema>
export type ProgressEnd = s.Static<typeof progressEndSchema>
export type Report = s.Static<typeof reportSchema>
export type Quota = s.Static<typeof quotaSchema>
export type Forecast = s.Static<typeof forecastSchema>
export type RetryForecast = s.Static<typeof retryForecastSchema>
export type RetryRequest = s.Static<typeof retryRequestSchema>
