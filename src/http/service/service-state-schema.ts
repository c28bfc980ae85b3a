import { throughputPeriods } from '../../migrations/throughput.ts'
import {
  all,
  count,
  flag,
  integer,
  listOf,
  moment,
  momentOrNull,
  recordOf,
  text,
  textOrNull,
} from '../description/json-schema.ts'
import { migrationStates } from '../migrations/migration-schema.ts'
import { lockSchema, repositoryCountsSchema } from '../migrations/summary-schema.ts'

const migration = { id: integer, guid: { ...text, format: 'uuid' }, login: text }

const running = recordOf({
  ...migration,
  state: { ...text, enum: migrationStates },
  created_at: moment,
  started_at: momentOrNull,
  repositories: repositoryCountsSchema,
  bytes_done: count,
})

const queue = recordOf({
  jobs: count,
  oldest_at: { ...momentOrNull, description: 'Null where nothing waits.' },
  kinds: listOf(recordOf({ kind: text, jobs: count, oldest_at: moment })),
})

const bucket = recordOf({
  start: moment,
  repositories: { ...count, description: 'Carried, with those that were reused.' },
  ...all(['reused', 'skipped', 'migrations_exported', 'migrations_failed'], count),
  bytes: { ...count, description: 'Written anew.' },
  bytes_reused: count,
})

const throughput = recordOf({
  period: { ...text, enum: [...throughputPeriods] },
  bucket_seconds: count,
  buckets: { ...listOf(bucket), description: 'The oldest first; the last is still filling.' },
})

const storage = recordOf({
  ...all(['segments', 'segment_bytes', 'archives'], count),
  archive_bytes: { ...count, description: 'Most of them are those of segments.' },
  free_bytes: {
    type: ['integer', 'null'],
    minimum: 0,
    description: 'Null where a bucket is used, or no exporter has told.',
  },
})

const locks = recordOf({
  held: count,
  newest: listOf(
    recordOf({
      ...lockSchema.properties,
      migration_id: integer,
      login: { ...text, description: 'Whose migration it is.' },
    }),
  ),
})

const failure = recordOf({
  ...migration,
  ended_at: momentOrNull,
  reason: textOrNull,
  repositories: {
    ...listOf(recordOf({ full_name: text, reason: text })),
    description: 'The first of those that could not be exported.',
  },
})

const worker = recordOf({
  id: { ...text, format: 'uuid' },
  ...all(['host', 'version'], text),
  pid: integer,
  role: { ...text, enum: ['all', 'api', 'worker'] },
  concurrency: { ...count, description: 'How many jobs it runs at once.' },
  running_jobs: count,
  started_at: moment,
  seen_at: { ...moment, description: 'Its last sign of life; every ten seconds there is one.' },
  alive: flag,
})

export const serviceStateSchema = recordOf(
  {
    observed_at: moment,
    version: { ...text, description: 'Of the process that answers.' },
    migrations: recordOf(all(migrationStates, count), {
      description: 'How many are, or have ended, in each state.',
    }),
    running: { ...listOf(running), description: 'The oldest of those that have not ended.' },
    queue,
    throughput,
    storage,
    locks,
    failures: { ...listOf(failure), description: 'The newest.' },
    workers: listOf(worker),
  },
  { description: 'The whole service at one moment.' },
)
