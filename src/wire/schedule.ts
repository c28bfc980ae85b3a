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
  enumOf,
  integer,
  MAX_LIST_LENGTH,
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
  every: { ...enumOf(['day', 'week']), description: 'How often.' },
  weekday: {
    ...nullable(enumOf(weekdays)),
    description: 'For `every: week`, and only then.',
  },
  at: {
    ...string,
    pattern: '^([01]\\d|2[0-3]):[0-5]\\d$',
    description:
      'Time of the day in `time_zone`, such as `03:30`. A time that does not exist on a day, because the clocks go forward, runs at the first moment after; one that occurs twice runs once, the first time.',
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
      'How many archives to keep: when a run is exported, older archives of this schedule are deleted, except those that hold a repository which no newer one holds (`protected_archives`). Archives that are kept do not expire.',
  },
}

const paused = { ...boolean, description: 'A paused schedule does not run.' }

const requestFields = {
  repositories: { ...startRequestSchema.properties.repositories, maxItems: MAX_LIST_LENGTH },
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

/** Fields that are not sent do not change, so they have no defaults. */
export const scheduleChangeSchema = request(
  { repositories: requestFields.repositories, ...startFlagsWithoutDefaults, ...timing, paused },
  { examples: [{ at: '04:00', paused: false }] },
)

const skippedSchema = object({ full_name: string, reason: string })

export const scheduleRunSchema = object(
  {
    id: integer,
    due_at: {
      ...nullable(dateTime),
      description: 'When it was due; null if somebody asked for it.',
    },
    created_at: { ...dateTime, description: 'When it was started, skipped, or failed to start.' },
    migration_id: {
      ...nullable(integer),
      description: 'The migration that it started; null if it started none.',
    },
    state: {
      ...enumOf([...shownStates, 'skipped']),
      description:
        "The state of the migration. `skipped`: the schedule's last migration had not ended. `failed` without a migration: none could be started.",
    },
    reason: { ...nullable(string), description: 'Why it failed or was skipped.' },
    skipped_repositories: {
      ...arrayOf(skippedSchema),
      description: 'Repositories that the account could not migrate any more, with the reason.',
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
    description: 'Full names of the repositories that no newer archive of the schedule holds.',
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
      description: 'Why the service stopped it; null if somebody paused it.',
    },
    next_run_at: { ...nullable(dateTime), description: 'Null while it is paused.' },
    last_run: {
      ...nullable(ref<ScheduleRun>('schedule-run')),
      description: 'Null before the first.',
    },
    protected_archives: {
      ...arrayOf(protectedArchiveSchema),
      description:
        'Archives that are kept beyond `keep`, newest first, because each holds repositories that no newer archive of the schedule holds.',
    },
    created_at: dateTime,
    updated_at: dateTime,
  },
  { description: 'A migration that is started every day or every week.' },
)

export type Schedule = Static<typeof scheduleSchema>
export type ScheduleRun = Static<typeof scheduleRunSchema>
export type ScheduleRequest = Static<typeof scheduleRequestSchema>
export type ScheduleChange = Static<typeof scheduleChangeSchema>
