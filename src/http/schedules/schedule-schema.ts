import { periods, weekdays } from '../../schedules/schedule.ts'
import {
  address,
  flag,
  integer,
  listOf,
  MAX_LISTED,
  moment,
  momentOrNull,
  orNull,
  recordOf,
  schemaNamed,
  text,
  textOrNull,
} from '../description/json-schema.ts'
import { shownStates } from '../migrations/migration-schema.ts'
import {
  startBodySchema,
  startFlagSchemas,
  startFlagsWithoutDefaults,
} from '../migrations/start-request.ts'

const MAX_KEEP = 100

const timing = {
  every: { ...text, enum: periods, description: 'How often.' },
  weekday: {
    type: ['string', 'null'],
    enum: [...weekdays, null],
    description: 'For `every: week`, and only then.',
  },
  at: {
    ...text,
    pattern: '^([01]\\d|2[0-3]):[0-5]\\d$',
    description:
      'Time of the day in `time_zone`, such as `03:30`. A time that does not exist on a day, because the clocks go forward, runs at the first moment after; one that occurs twice runs once, the first time.',
  },
  time_zone: {
    ...text,
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

const paused = { ...flag, description: 'A paused schedule does not run.' }

/** What a start takes, and when. */
const asked = {
  repositories: { ...startBodySchema.properties.repositories, maxItems: MAX_LISTED },
  ...startFlagSchemas,
  ...timing,
  keep: { ...timing.keep, default: 4 },
  paused: { ...paused, default: false },
}

export const scheduleBodySchema = {
  type: 'object',
  required: ['repositories', 'every', 'at', 'time_zone'],
  properties: asked,
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
}

/** The same, each of it or none: what is not said has no default. */
export const scheduleChangeSchema = {
  type: 'object',
  properties: {
    repositories: asked.repositories,
    ...startFlagsWithoutDefaults,
    ...timing,
    paused,
  },
  examples: [{ at: '04:00', paused: false }],
}

const skippedSchema = recordOf({ full_name: text, reason: text })

export const scheduleRunSchema = recordOf(
  {
    id: integer,
    due_at: { ...momentOrNull, description: 'When it was due; null if somebody asked for it.' },
    created_at: { ...moment, description: 'When it was started, skipped, or failed to start.' },
    migration_id: {
      type: ['integer', 'null'],
      description: 'The migration that it started; null if it started none.',
    },
    state: {
      ...text,
      enum: [...shownStates, 'skipped'],
      description:
        "The state of the migration. `skipped`: the schedule's last migration had not ended. `failed` without a migration: none could be started.",
    },
    reason: { ...textOrNull, description: 'Why it failed or was skipped.' },
    skipped_repositories: {
      ...listOf(skippedSchema),
      description: 'Repositories that the account could not migrate any more, with the reason.',
    },
    has_archive: { ...flag, description: 'Whether there is an archive to download.' },
  },
  { description: 'One run of a schedule.' },
)

const protectedArchiveSchema = recordOf({
  migration_id: { ...integer, description: 'The migration whose archive it is.' },
  created_at: { ...moment, description: 'When that migration was started.' },
  repositories: {
    ...listOf(text),
    description: 'Full names of the repositories that no newer archive of the schedule holds.',
  },
})

export const scheduleSchema = recordOf(
  {
    id: integer,
    url: address,
    owner: { ...text, description: 'The account or organization whose migrations it starts.' },
    created_by: { ...text, description: 'The account that it runs as.' },
    repositories: { ...listOf(text), description: 'Full names.' },
    ...startFlagsWithoutDefaults,
    ...timing,
    paused,
    paused_reason: {
      ...textOrNull,
      description: 'Why the service stopped it; null if somebody paused it.',
    },
    next_run_at: { ...momentOrNull, description: 'Null while it is paused.' },
    last_run: { ...orNull(schemaNamed('schedule-run')), description: 'Null before the first.' },
    protected_archives: {
      ...listOf(protectedArchiveSchema),
      description:
        'Archives that are kept beyond `keep`, newest first, because each holds repositories that no newer archive of the schedule holds.',
    },
    created_at: moment,
    updated_at: moment,
  },
  { description: 'A migration that is started every day or every week.' },
)
