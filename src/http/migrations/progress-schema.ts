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
import { migrationStates } from './migration-schema.ts'

const countOrNull = { type: ['integer', 'null'], minimum: 0 }
const repositoryStates = ['waiting', 'exporting', 'exported', 'skipped'] satisfies RepositoryState[]

const totals = recordOf({
  ...all(['repositories', 'exported', 'reused', 'skipped', 'remaining', 'bytes_done'], count),
  bytes_expected: { ...countOrNull, description: 'Null until every repository was looked at.' },
  bytes_per_second: {
    ...countOrNull,
    description: 'Over the whole export; reused ones cost nothing.',
  },
  seconds_left: { ...countOrNull, description: 'Null while there is nothing to reckon from.' },
})

export const repositoryProgressSchema = recordOf(
  {
    full_name: text,
    state: { ...text, enum: repositoryStates },
    bytes_done: count,
    bytes_expected: { ...countOrNull, description: 'Null until it was looked at.' },
    reused: { ...flag, description: 'Exported before and unchanged since.' },
    reason: { ...textOrNull, description: 'Why it was skipped.' },
    warning: {
      ...textOrNull,
      description:
        'What is to be known of it though it was exported, such as LFS objects that are missing.',
    },
    started_at: momentOrNull,
    finished_at: momentOrNull,
  },
  { description: 'How far one repository of a migration has come.' },
)

export const progressSchema = recordOf(
  {
    state: { ...text, enum: migrationStates },
    reason: { ...textOrNull, description: 'Why it failed.' },
    started_at: momentOrNull,
    ended_at: momentOrNull,
    totals,
    repositories: listOf(schemaNamed('repository-progress')),
  },
  { description: 'How far a migration has come.' },
)

export const reportSchema = recordOf(
  {
    id: integer,
    guid: { ...text, format: 'uuid' },
    login: text,
    seconds: { type: ['number', 'null'], minimum: 0, description: 'Null before it has begun.' },
    ...progressSchema.properties,
  },
  { description: 'What became of a migration.' },
)

export const forecastSchema = recordOf(
  {
    repositories: listOf(
      recordOf({
        full_name: text,
        ...all(['bytes', 'lfs_bytes'], count),
        reused: { ...flag, description: 'Exported before and unchanged since: costs a look-up.' },
        reason: { ...textOrNull, description: 'Why it would be skipped.' },
        warning: {
          ...textOrNull,
          description: 'What is to be known of it though it can be exported.',
        },
      }),
    ),
    bytes_to_write: count,
    free_bytes: {
      ...countOrNull,
      description: 'Where exporters keep archives; null where they have not told, or use a bucket.',
    },
    estimated_seconds: {
      ...countOrNull,
      description: 'Null where no export has shown how fast it goes.',
    },
  },
  { description: 'What a migration would carry and cost.' },
)
