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
  schemaNamed,
  text,
  textOrNull,
} from '../description/json-schema.ts'
import { shownStates } from '../migrations/migration-schema.ts'
import { repositoryCountsSchema } from '../migrations/summary-schema.ts'

const migration = { id: integer, guid: { ...text, format: 'uuid' }, login: text }

const running = recordOf({
  ...migration,
  state: { ...text, enum: shownStates },
  created_at: moment,
  started_at: momentOrNull,
  repositories: repositoryCountsSchema,
  bytes_done: count,
})

const queue = recordOf({
  jobs: count,
  oldest_at: { ...momentOrNull, description: 'Null if nothing is waiting.' },
  kinds: listOf(recordOf({ kind: text, jobs: count, oldest_at: moment })),
})

const bucket = recordOf({
  start: moment,
  repositories: { ...count, description: 'Exported repositories, including reused ones.' },
  ...all(['reused', 'skipped', 'failed'], count),
  ...all(['migrations_exported', 'migrations_failed', 'migrations_cancelled'], count),
  bytes: { ...count, description: 'Bytes written, without reused repositories.' },
  bytes_reused: count,
})

const throughput = recordOf({
  period: { ...text, enum: [...throughputPeriods] },
  bucket_seconds: count,
  buckets: { ...listOf(bucket), description: 'Oldest first; the last one is not complete yet.' },
})

const storage = recordOf({
  used_bytes: { ...count, description: 'Held in all: by archives, for reuse, and as scratch.' },
  archive_bytes: {
    ...count,
    description: 'Held by archives and running exports. What several archives share counts once.',
  },
  reuse_bytes: { ...count, description: 'Held only for reuse by later exports.' },
  scratch_bytes: { ...count, description: 'Held by snapshots of running exports.' },
  ...all(['segments', 'archives'], count),
  free_bytes: {
    type: ['integer', 'null'],
    minimum: 0,
    description: 'Null if a bucket is used, or if unknown.',
  },
})

const locks = recordOf({
  held: count,
  newest: {
    ...listOf(schemaNamed('held-lock')),
    description: 'The newest locks.',
  },
})

const failure = recordOf({
  ...migration,
  state: {
    ...text,
    enum: ['exported', 'failed'],
    description: '`exported` if only some of its repositories could not be exported.',
  },
  ended_at: momentOrNull,
  reason: textOrNull,
  counts: repositoryCountsSchema,
  repositories: {
    ...listOf(recordOf({ full_name: text, reason: text })),
    description: 'The first repositories that could not be exported.',
  },
})

const archive = recordOf({ ...migration, bytes: count, expires_at: momentOrNull })

const checks = recordOf(
  {
    ...all(['passed', 'failed'], count),
    newest_at: { ...momentOrNull, description: 'Null if no repository has been checked.' },
    problems: {
      ...listOf(recordOf({ full_name: text, checked_at: moment, reason: text })),
      description: 'The newest failures.',
    },
  },
  { description: 'What `godwit check` last found of each repository.' },
)

export const tokenSchema = recordOf(
  {
    id: integer,
    ...all(['login', 'name'], text),
    created_at: moment,
    ...all(['expires_at', 'last_used_at', 'revoked_at'], momentOrNull),
  },
  { description: 'An access token, without the secret.' },
)

const worker = recordOf({
  id: { ...text, format: 'uuid' },
  ...all(['host', 'version'], text),
  pid: integer,
  role: { ...text, enum: ['all', 'api', 'worker'] },
  concurrency: { ...count, description: 'Maximum number of jobs at the same time.' },
  running_jobs: count,
  started_at: moment,
  seen_at: { ...moment, description: 'Its last heartbeat; there is one every ten seconds.' },
  alive: flag,
})

export const serviceStateSchema = recordOf(
  {
    observed_at: moment,
    version: { ...text, description: 'Version of the process that answers.' },
    migrations: recordOf(all(shownStates, count), {
      description: 'Number of migrations in each state.',
    }),
    running: { ...listOf(running), description: 'The oldest unfinished migrations.' },
    queue,
    throughput,
    storage,
    locks,
    failures: {
      ...listOf(failure),
      description: 'The newest migrations that failed, or skipped repositories.',
    },
    workers: listOf(worker),
    archives: { ...listOf(archive), description: 'The largest archives.' },
    checks,
  },
  { description: 'The state of the whole service.' },
)
