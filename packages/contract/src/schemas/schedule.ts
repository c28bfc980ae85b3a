import * as migration from './migration.ts'
import * as S from './schema.ts'

const MAX_KEEP = 100
export const weekdays = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const

const timing = {
  every: S.enumOf(['day', 'week']).describe('How often it runs.'),
  weekday: S.nullable(S.enumOf(weekdays)).describe('Required with `every: week`, otherwise null.'),
  at: S.string.describe(
    'Time of the day in `time_zone`, such as `03:30`. On a day when the clocks skip this time, it runs at the first moment after the gap; on a day when the time occurs twice, it runs at the first occurrence.',
    { pattern: '^([01]\\d|2[0-3]):[0-5]\\d$' },
  ),
  time_zone: S.string.describe('IANA name of a time zone, such as `Europe/Zurich` or `UTC`.'),
  keep: S.integer.describe(
    'How many archives to keep: when a run is exported, older archives of this schedule are deleted, except those with a repository that no newer archive contains (`protected_archives`). Kept archives do not expire.',
    { minimum: 1, maximum: MAX_KEEP },
  ),
}

const paused = S.boolean.describe('A paused schedule does not run.')

const all = S.boolean.describe(
  'Migrate all repositories that the account or organization may migrate at the time of each run, also those that do not exist yet. Replaces `repositories`.',
)

const repositories = migration.repositoryNames.refusing({ uniqueItems: true })

const requestFields = {
  repositories: repositories.describe(
    `${repositories.description} Required unless \`all\` is true.`,
  ),
  all: { ...all, default: false },
  name: migration.migrationName,
  ...migration.startFlagSchemas,
  ...timing,
  keep: { ...timing.keep, default: 4 },
  paused: { ...paused, default: false },
}

export const scheduleRequestSchema = S.request(requestFields, {
  required: ['every', 'at', 'time_zone'],
  examples: [
    {
      repositories: ['atlas'],
      every: 'week',
      weekday: 'sunday',
      at: '03:30',
      time_zone: 'Europe/Zurich',
      keep: 4,
    },
  ],
})

/** Omitted fields do not change, so no field has a default. */
export const scheduleChangeSchema = S.request(
  {
    repositories,
    all,
    name: migration.migrationName,
    ...migration.startFlagsWithoutDefaults,
    ...timing,
    paused,
  },
  { examples: [{ at: '04:00', paused: false }] },
)

export const scheduleRunSchema = S.described('One run of a schedule.', {
  id: S.integer,
  due_at: S.dateTimeOrNull.describe('When it was due; null if a user started it.'),
  created_at: S.dateTime.describe('When it was started, skipped, or failed to start.'),
  migration_id: S.nullable(S.integer).describe('The migration that the run started, or null.'),
  state: S.enumOf([...migration.shownStates, 'skipped']).describe(
    "The state of the migration. `skipped`: the schedule's last migration had not ended. `failed` without a migration: it could not be started.",
  ),
  reason: S.stringOrNull.describe('Why it failed or was skipped.'),
  skipped_repositories: S.arrayOf(S.object({ full_name: S.string, reason: S.string })).describe(
    'Repositories that the account could no longer migrate, with the reason.',
  ),
  has_archive: S.boolean.describe('Whether there is an archive to download.'),
})

const protectedArchiveSchema = S.object({
  migration_id: S.integer.describe('The migration whose archive it is.'),
  created_at: S.dateTime.describe('When that migration was started.'),
  repositories: S.arrayOf(S.string).describe(
    'Full names of the repositories that no newer archive of the schedule contains.',
  ),
})

export const scheduleSchema = S.described('A migration that is started every day or every week.', {
  id: S.integer,
  url: S.uri,
  owner: S.string.describe('The account or organization whose migrations it starts.'),
  created_by: S.string.describe('The account that it runs as.'),
  name: S.stringOrNull.describe('The name of its migrations, or null.'),
  all,
  repositories: S.arrayOf(S.string).describe('Full names; empty if `all` is true.'),
  ...migration.startFlagsWithoutDefaults,
  ...timing,
  paused,
  paused_reason: S.stringOrNull.describe('Why the service paused it; null if a user paused it.'),
  next_run_at: S.dateTimeOrNull.describe('Null while it is paused.'),
  last_run: S.nullable(S.ref<ScheduleRun>('schedule-run')).describe('Null before the first run.'),
  protected_archives: S.arrayOf(protectedArchiveSchema).describe(
    'Archives that are kept beyond `keep`, newest first, because each contains repositories that no newer archive of the schedule contains.',
  ),
  ...S.each(['created_at', 'updated_at'], S.dateTime),
})

export type Schedule = S.Static<typeof scheduleSchema>
export type ScheduleRun = S.Static<typeof scheduleRunSchema>
export type ScheduleRequest = S.Static<typeof scheduleRequestSchema>
export type ScheduleChange = S.Static<typeof scheduleChangeSchema>
