import { shownStates } from './migration.ts'
import * as S from './schema.ts'

const repositoryStates = ['waiting', 'exporting', 'exported', 'skipped', 'failed'] as const
const repositoryPhases = ['records', 'queued', 'packing'] as const
const migrationPhases = ['waiting', 'records', 'packing', 'sealing'] as const
const SIZE =
  'Sizes are the bytes of git objects and LFS objects, of the repository and its wiki, before the archive is compressed. In a repository that is being exported, bytes are done when they are written and verified.'

const archiveWarnings = S.arrayOf(S.string).describe(
  "Warnings about the archive, such as damaged data, or a size that GitHub's importers refuse or that the disk has no space for.",
)

const totalsSchema = S.object({
  ...S.each(['repositories', 'exported', 'reused', 'skipped', 'failed'], S.count),
  incomplete: S.count.describe(
    'Exported repositories with missing LFS objects. If there are any, the export is partial.',
  ),
  remaining: S.count,
  phase: S.nullable(S.enumOf(migrationPhases)).describe(
    'What happens now: issues and pull requests are read (`records`), git data is written and verified (`packing`), or all repositories have ended and the archive is completed (`sealing`). Null after the end.',
  ),
  percent: S.count.describe(
    'By repositories and by bytes, equally. 100 only if the migration is exported.',
    { maximum: 100 },
  ),
  bytes_done: S.count.describe(SIZE),
  bytes_expected: S.count.describe(
    'Estimated from the repository index until the repositories have been examined. Excludes skipped and failed ones.',
  ),
  bytes_per_second: S.countOrNull.describe(
    'Average since the first git data was written, excluding reused repositories. Null before that, and below 1 kB/s.',
  ),
  seconds_left: S.countOrNull.describe(
    'Estimated from the repositories, bytes and records that are done and left. Null while no estimate is possible: too little is done, only records were read, a repository makes no progress, or the archive is being sealed.',
  ),
  records_done: S.count.describe('Issues and pull requests that were read from the forge.'),
  records_expected: S.count.describe('Issues and pull requests to read, as far as known.'),
  waiting_until: S.dateTimeOrNull.describe(
    'When the forge accepts requests again; null if no repository is waiting for it.',
  ),
  stalled_since: S.dateTimeOrNull.describe(
    'When the migration last made progress, if that is more than two minutes ago; null otherwise, and while it waits for the forge.',
  ),
  waiting_for: S.stringOrNull.describe('What a stalled migration waits for.'),
})

const records = S.nullable(
  S.object({
    ...S.each(['done', 'expected'], S.count),
    as_of: S.dateTimeOrNull.describe('The records are at least as new as this.'),
    waiting_until: S.dateTimeOrNull.describe('When the forge accepts requests again.'),
    waiting_for: S.stringOrNull.describe('Why the forge refuses requests now.'),
    losses: S.arrayOf(
      S.object({ kind: S.string, count: S.count, examples: S.arrayOf(S.string) }),
    ).describe(
      'What the forge does not provide and what archives cannot represent, counted by kind, with the first examples. Sentences have the kind `not_read`.',
    ),
  }),
).describe(
  'Issues and pull requests of the forge; null if there is no forge, or they have not been read yet.',
)

export const repositoryProgressSchema = S.described(
  'The progress of one repository of a migration.',
  {
    full_name: S.string,
    state: S.enumOf(repositoryStates).describe(
      '`failed` if the migration fails because of it; `skipped` if the migration allows partial archives.',
    ),
    phase: S.nullable(S.enumOf(repositoryPhases)).describe(
      'What is done with it now: its issues and pull requests are read (`records`), it waits until its git data can be exported (`queued`), or its git data is written and verified (`packing`). Null unless its state is `exporting`.',
    ),
    bytes_done: S.count.describe(SIZE),
    bytes_expected: S.count.describe(
      'Estimated from the repository index until the repository has been examined.',
    ),
    reused: S.boolean.describe('Unchanged since an earlier export, which was reused.'),
    reason: S.stringOrNull.describe('Why it was skipped or failed.'),
    warning: S.stringOrNull.describe(
      "A warning about an exported repository, such as missing LFS objects, or what GitHub's importers refuse.",
    ),
    missing_lfs_objects: S.count.describe(
      'LFS objects of an exported repository that its host does not have. `warning` names the first, and the manifest of the archive all of them.',
    ),
    ...S.each(['started_at', 'finished_at'], S.dateTimeOrNull),
    records,
  },
)

export const progressSchema = S.described('The progress of a migration.', {
  state: S.enumOf(shownStates),
  reason: S.stringOrNull.describe('Why it failed.'),
  ...S.each(['started_at', 'ended_at'], S.dateTimeOrNull),
  totals: totalsSchema,
  repositories: S.arrayOf(S.ref<RepositoryProgress>('repository-progress')),
})

const { state, reason, started_at } = progressSchema.properties

export const progressUpdateSchema = S.described('The data of a `progress` event.', {
  ...totalsSchema.properties,
  state,
  started_at,
  under_way: S.arrayOf(S.ref<RepositoryProgress>('repository-progress')).describe(
    'The repositories that are being exported.',
  ),
})

export const progressEndSchema = S.described('The data of an `end` event.', { state, reason })

export const reportSchema = S.described('The result of a migration.', {
  id: S.integer,
  guid: S.uuid,
  login: S.string,
  seconds: S.nullable(S.number).describe('Null before it has started.', { minimum: 0 }),
  warnings: archiveWarnings,
  ...progressSchema.properties,
})

export const forecastRepository = S.object({
  full_name: S.string,
  ...S.each(['bytes', 'lfs_bytes'], S.count),
  reused: S.boolean.describe('Unchanged since an earlier export, which will be reused.'),
  reason: S.stringOrNull.describe('Why it would be skipped.'),
  warning: S.stringOrNull.describe('A warning about a repository that can be exported.'),
})

export const quotaSchema = S.described(
  'What the archives of an owner may add up to, and what they do.',
  {
    max_bytes: S.countOrNull.describe('Null if there is no quota.'),
    used_bytes: S.count.describe(
      'The sum of what the downloads of all archives have. What two archives share counts in both.',
    ),
  },
)

export const forecastSchema = S.described('An estimate of a migration.', {
  repositories: S.arrayOf(forecastRepository),
  bytes_to_write: S.count,
  free_bytes: S.countOrNull.describe(
    'Free disk space for archives; null if unknown, or if a bucket is used.',
  ),
  estimated_seconds: S.countOrNull.describe(
    'Null if there is no earlier export to estimate from, or only of much smaller repositories.',
  ),
  quota: quotaSchema,
  warnings: archiveWarnings,
})

export const brokenRepository = S.object({
  full_name: S.string,
  reason: S.string,
  gone: S.boolean.describe(
    'Whether the repository no longer exists, or the caller may no longer migrate it. A retry with `allow_partial` skips it; any other retry is refused.',
  ),
  changed: S.nullable(S.boolean).describe(
    'Whether the repository has changed since the migration. Null if unknown.',
  ),
})

export const retryForecastSchema = S.described('A forecast of the retry of a migration.', {
  broken: S.arrayOf(brokenRepository).describe(
    'The repositories that could not be exported, and those that no longer exist.',
  ),
  unchanged: S.boolean.describe(
    'Whether none of them has changed, so that a retry would have the same result.',
  ),
})

export const retryRequestSchema = S.request(
  {
    allow_partial: S.boolean.describe(
      'Skip repositories that cannot be exported, instead of failing the migration.',
      { default: false },
    ),
  },
  { examples: [{ allow_partial: true }] },
)

export type RepositoryProgress = S.Static<typeof repositoryProgressSchema>
export type Progress = S.Static<typeof progressSchema>
export type ProgressUpdate = S.Static<typeof progressUpdateSchema>
export type ProgressEnd = S.Static<typeof progressEndSchema>
export type Report = S.Static<typeof reportSchema>
export type Quota = S.Static<typeof quotaSchema>
export type Forecast = S.Static<typeof forecastSchema>
export type RetryForecast = S.Static<typeof retryForecastSchema>
export type RetryRequest = S.Static<typeof retryRequestSchema>
