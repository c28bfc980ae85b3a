import { throughputPeriods } from '../../migrations/throughput.ts'
import type { serviceStateJson } from '../service/service-state-json.ts'
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
} from './json-schema.ts'
import { migrationStates } from './migration-schema.ts'
import { lockSchema, repositoryCountsSchema } from './summary-schema.ts'

type State = ReturnType<typeof serviceStateJson>
type Each<Name extends keyof State> = State[Name] extends (infer One extends object)[] ? One : never

const migration = { id: integer, guid: { ...text, format: 'uuid' }, login: text }

const running = recordOf<Each<'running'>>({
  ...migration,
  state: { ...text, enum: migrationStates },
  created_at: moment,
  started_at: momentOrNull,
  repositories: repositoryCountsSchema,
  bytes_done: count,
})

const queue = recordOf<State['queue']>({
  jobs: count,
  oldest_at: { ...momentOrNull, description: 'Null where nothing waits.' },
  kinds: listOf(
    recordOf<State['queue']['kinds'][number]>({ kind: text, jobs: count, oldest_at: moment }),
  ),
})

const bucket = recordOf<State['throughput']['buckets'][number]>({
  start: moment,
  repositories: { ...count, description: 'Carried, with those that were reused.' },
  ...all(['reused', 'omitted', 'migrations_exported', 'migrations_failed'], count),
  bytes: { ...count, description: 'Written anew.' },
  bytes_reused: count,
})

const throughput = recordOf<State['throughput']>({
  period: { ...text, enum: [...throughputPeriods] },
  bucket_seconds: count,
  buckets: { ...listOf(bucket), description: 'The oldest first; the last is still filling.' },
})

const storage = recordOf<State['storage']>({
  ...all(['segments', 'segment_bytes', 'archives'], count),
  archive_bytes: { ...count, description: 'Most of them are those of segments.' },
  free_bytes: {
    type: ['integer', 'null'],
    minimum: 0,
    description: 'Null where a bucket is used, or no exporter has told.',
  },
})

const locks = recordOf<State['locks']>({
  held: count,
  newest: listOf(
    recordOf<State['locks']['newest'][number]>({
      ...lockSchema.properties,
      migration_id: integer,
      login: { ...text, description: 'Whose migration it is.' },
    }),
  ),
})

const failure = recordOf<Each<'failures'>>({
  ...migration,
  ended_at: momentOrNull,
  reason: textOrNull,
  repositories: {
    ...listOf(
      recordOf<Each<'failures'>['repositories'][number]>({ full_name: text, reason: text }),
    ),
    description: 'The first of those that could not be carried.',
  },
})

const worker = recordOf<Each<'workers'>>({
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

export const serviceStateSchema = recordOf<State>(
  {
    observed_at: moment,
    version: { ...text, description: 'Of the process that answers.' },
    migrations: recordOf<State['migrations']>(all(migrationStates, count), {
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
