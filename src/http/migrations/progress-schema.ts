import type { RepositoryState } from '../../migrations/progress.ts'
import {
  all,
  count,
  flag,
  integer,
  listOf,
  momentOrNull,
  recordOf,
  schemaNamed,
  text,
  textOrNull,
} from '../description/json-schema.ts'
import { shownStates } from './migration-schema.ts'

const countOrNull = { type: ['integer', 'null'], minimum: 0 }
const repositoryStates = [
  'waiting',
  'exporting',
  'exported',
  'skipped',
  'failed',
] satisfies RepositoryState[]

const archiveWarnings = {
  ...listOf(text),
  description:
    "Warnings about the archive as a whole, such as damaged data, a size that GitHub's importers refuse, or one that the disk has no space for.",
}

const totals = recordOf({
  ...all(['repositories', 'exported', 'reused', 'skipped', 'failed'], count),
  ...all(['remaining', 'bytes_done'], count),
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
    ...momentOrNull,
    description: 'When the forge can be asked again; null if nothing waits for that.',
  },
})

const records = {
  ...recordOf({
    ...all(['done', 'expected'], count),
    as_of: { ...momentOrNull, description: 'The records are at least as new as this.' },
    waiting_until: { ...momentOrNull, description: 'When the forge can be asked again.' },
    waiting_for: { ...textOrNull, description: 'Why the forge cannot be asked now.' },
    notes: { ...listOf(text), description: 'What the forge does not give.' },
  }),
  type: ['object', 'null'],
  description:
    'Issues and pull requests of the forge; null if there is no forge, or they have not been read yet.',
}

export const repositoryProgressSchema = recordOf(
  {
    full_name: text,
    state: {
      ...text,
      enum: repositoryStates,
      description:
        '`failed` if the migration fails because of it; `skipped` if the migration allows partial archives.',
    },
    bytes_done: count,
    bytes_expected: {
      ...count,
      description: 'From the catalogue, until the repository has been examined.',
    },
    reused: { ...flag, description: 'Exported before and unchanged since then.' },
    reason: { ...textOrNull, description: 'Why it was skipped or failed.' },
    warning: {
      ...textOrNull,
      description:
        "A warning about an exported repository, such as missing LFS objects, or what GitHub's importers refuse.",
    },
    started_at: momentOrNull,
    finished_at: momentOrNull,
    records,
  },
  { description: 'The progress of one repository of a migration.' },
)

export const progressSchema = recordOf(
  {
    state: { ...text, enum: shownStates },
    reason: { ...textOrNull, description: 'Why it failed.' },
    started_at: momentOrNull,
    ended_at: momentOrNull,
    totals,
    repositories: listOf(schemaNamed('repository-progress')),
  },
  { description: 'The progress of a migration.' },
)

/** What the events of a stream tell of. */
export const progressUpdateSchema = recordOf(
  {
    ...totals.properties,
    state: progressSchema.properties.state,
    started_at: progressSchema.properties.started_at,
    under_way: {
      ...listOf(schemaNamed('repository-progress')),
      description: 'The repositories that are being exported.',
    },
  },
  { description: 'The data of an event `progress`.' },
)

export const progressEndSchema = recordOf(
  { state: progressSchema.properties.state, reason: progressSchema.properties.reason },
  { description: 'The data of an event `end`.' },
)

export const reportSchema = recordOf(
  {
    id: integer,
    guid: { ...text, format: 'uuid' },
    login: text,
    seconds: { type: ['number', 'null'], minimum: 0, description: 'Null before it has started.' },
    warnings: archiveWarnings,
    ...progressSchema.properties,
  },
  { description: 'The result of a migration.' },
)

export const forecastSchema = recordOf(
  {
    repositories: listOf(
      recordOf({
        full_name: text,
        ...all(['bytes', 'lfs_bytes'], count),
        reused: {
          ...flag,
          description: 'Exported before and unchanged since then: it will be reused.',
        },
        reason: { ...textOrNull, description: 'Why it would be skipped.' },
        warning: {
          ...textOrNull,
          description: 'A warning about a repository that can be exported.',
        },
      }),
    ),
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

export const retryForecastSchema = recordOf(
  {
    broken: {
      ...listOf(
        recordOf({
          full_name: text,
          reason: text,
          gone: {
            ...flag,
            description:
              'Whether the repository no longer exists, or may no longer be migrated. With `allow_partial` it is skipped, without it a retry is refused.',
          },
          changed: {
            type: ['boolean', 'null'],
            description: 'Whether the repository has changed since then. Null if unknown.',
          },
        }),
      ),
      description: 'The repositories that could not be exported, and those that are gone.',
    },
    unchanged: {
      ...flag,
      description: 'None of them has changed: a retry would end in the same way.',
    },
  },
  { description: 'What a retry of a migration has to expect.' },
)

export const retryBodySchema = {
  type: 'object',
  properties: {
    allow_partial: {
      ...flag,
      default: false,
      description: 'Skip repositories that cannot be exported, instead of failing.',
    },
  },
  examples: [{ allow_partial: true }],
}
