import {
  shownStates,
  startFlagSchemas,
  startFlagsWithoutDefaults,
  startRequestSchema,
} from './migration.ts'
import {
  arrayOf,
  boolean,
  dateTime,
  each,
  enumOf,
  integer,
  nullable,
  object,
  ref,
  request,
  type Static,
  string,
  uri,
} from './schema.ts'

const MAX_KEEP = 100
const weekdays = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const

const timing = {
  every: { ...enumOf(['day', 'week']), description: 'How often it runs.' },
  weekday: {
    ...nullable(enumOf(weekdays)),
    description: 'Required with `every: week`, otherwise null.',
  },
  at: {
    ...string,
    pattern: '^([01]\\d|2[0-3]):[0-5]\\d$',
    description:
      'Time of the day in `time_zone`, such as `03:30`. On a day when the clocks skip this time, it runs at the first moment after the gap; on a day when the time occurs twice, it runs at the first occurrence.',
  },
  time_zone: {
    ...string,
    description: 'IANA name of a time zone, such as `Europe/Zurich` or `UTC`.',
  },
  keep: {
    ...integer,
    minimum: 1,
    maximum: MAX_KEEP,
    description:
      'How many archives to keep: when a run is exported, older archives of this schedule are deleted, except those with a repository that no newer archive contains (`protected_archives`). Kept archives do not expire.',
  },
}

const paused = { ...boolean, description: 'A paused schedule does not run.' }

const requestFields = {
  repositories: startRequestSchema.properties.repositories,
  ...startFlagSchemas,
  ...timing,
  keep: { ...timing.keep, default: 4 },
  paused: { ...paused, default: false },
}

export const scheduleRequestSchema = request(requestFields, {
  required: ['repositories', 'every', 'at', 'time_zone'],
  examples: [
    {
      repositories: ['alice/atlas'],
      every: 'week',
      weekday: 'sunday',
      at: '03:30',
      time_zone: 'Europe/Zurich',
      keep: 4,
    },
  ],
})

/** Omitted fields do not change, so no field has a default. */
export const scheduleChangeSchema = request(
  { repositories: requestFields.repositories, ...startFlagsWithoutDefaults, ...timing, paused },
  { examples: [{ at: '04:00', paused: false }] },
)

const skippedSchema = object({ full_name: string, reason: string })

export const scheduleRunSchema = object(
  {
    id: integer,
    due_at: { ...nullable(dateTime), description: 'When it was due; null if a user started it.' },
    created_at: { ...dateTime, description: 'When it was started, skipped, or failed to start.' },
    migration_id: {
      ...nullable(integer),
      description: 'The migration that the run started, or null.',
    },
    state: {
      ...enumOf([...shownStates, 'skipped']),
      description:
        "The state of the migration. `skipped`: the schedule's last migration had not ended. `failed` without a migration: it could not be started.",
    },
    reason: { ...nullable(string), description: 'Why it failed or was skipped.' },
    skipped_repositories: {
      ...arrayOf(skippedSchema),
      description: 'Repositories that the account could no longer migrate, with the reason.',
    },
    has_archive: { ...boolean, description: 'Whether there is an archive to download.' },
  },
  { description: 'One run of a schedule.' },
)

const protectedArchiveSchema = object({
  migration_id: { ...integer, description: 'The migration whose archive it is.' },
  created_at: { ...dateTime, description: 'When that migration was started.' },
  repositories: {
    ...arrayOf(string),
    description: 'Full names of the repositories that no newer archive of the schedule contains.',
  },
})

export const scheduleSchema = object(
  {
    id: integer,
    url: uri,
    owner: { ...string, description: 'The account or organization whose migrations it starts.' },
    created_by: { ...string, description: 'The account that it runs as.' },
    repositories: { ...arrayOf(string), description: 'Full names.' },
    ...startFlagsWithoutDefaults,
    ...timing,
    paused,
    paused_reason: {
      ...nullable(string),
      description: 'Why the service paused it; null if a user paused it.',
    },
    next_run_at: { ...nullable(dateTime), description: 'Null while it is paused.' },
    last_run: {
      ...nullable(ref<ScheduleRun>('schedule-run')),
      description: 'Null before the first run.',
    },
    protected_archives: {
      ...arrayOf(protectedArchiveSchema),
      description:
        'Archives that are kept beyond `keep`, newest first, because each contains repositories that no newer archive of the schedule contains.',
    },
    ...each(['created_at', 'updated_at'], dateTime),
  },
  { description: 'A migration that is started every day or every week.' },
)

export type Schedule = Static<typeof scheduleSchema>
export type ScheduleRun = Static<typeof scheduleRunSchema>
export type ScheduleRequest = Static<typeof scheduleRequestSchema>
export type ScheduleChange = Static<typeof scheduleChangeSchema>
