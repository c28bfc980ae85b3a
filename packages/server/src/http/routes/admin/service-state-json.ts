import { isPartial } from '@godwit/contract/schemas/describe-outcome'
import type * as wire from '@godwit/contract/schemas/types'
import type { ServiceState, StorageUse } from '../../../migrations/service-state.ts'
import type { Summary } from '../../../migrations/summaries.ts'
import { lockWithMigrationJson } from '../../rendering/migration-json.ts'
import { utcTimestamp, utcTimestampOrNull } from '../../rendering/rendering.ts'

interface Storage extends StorageUse {
  scratchBytes: number
  /** Null if unknown, or if the archives are in a bucket. */
  freeBytes: number | null
}

export function serviceStateJson(state: ServiceState, storage: Storage, version: string) {
  const { throughput, locks } = state
  return {
    observed_at: utcTimestamp(state.observedAt),
    version,
    migrations: state.migrations,
    running: state.running.map(runningJson),
    queue: queueJson(state.backlog),
    throughput: {
      period: throughput.period,
      bucket_seconds: throughput.bucketMs / 1000,
      buckets: throughput.buckets.map(bucketJson),
    },
    storage: {
      used_bytes: storage.archiveBytes + storage.reuseBytes + storage.scratchBytes,
      archive_bytes: storage.archiveBytes,
      reuse_bytes: storage.reuseBytes,
      scratch_bytes: storage.scratchBytes,
      segments: storage.segments,
      archives: storage.archives,
      free_bytes: storage.freeBytes,
    },
    locks: { held: locks.held, newest: locks.newest.map(lockWithMigrationJson) },
    failures: state.failures.map(failureJson),
    workers: state.workers.map(workerJson),
    archives: state.archives.map(archiveJson),
    checks: checksJson(state.checks),
  } satisfies wire.ServiceState
}

const identityJson = ({ id, guid, owner }: Summary) => ({
  ...{ id, guid },
  login: owner.login,
  owner_type: owner.type,
})

const runningJson = (migration: Summary) => ({
  ...identityJson(migration),
  state: migration.state,
  created_at: utcTimestamp(migration.createdAt),
  started_at: utcTimestampOrNull(migration.startedAt),
  repositories: migration.repositories,
  bytes_done: migration.bytesDone,
})

function queueJson(backlog: ServiceState['backlog']) {
  const kinds = backlog.map(({ kind, jobs, oldest }) => ({
    kind,
    jobs,
    oldest_at: utcTimestamp(oldest),
  }))
  return {
    jobs: backlog.reduce((sum, { jobs }) => sum + jobs, 0),
    oldest_at: kinds.map(({ oldest_at }) => oldest_at).sort()[0] ?? null,
    kinds,
  }
}

type Bucket = ServiceState['throughput']['buckets'][number]

const bucketJson = ({ startedAt, count, bytes }: Bucket) => ({
  start: utcTimestamp(startedAt),
  repositories: count['repositories exported'] + count['repositories reused'],
  reused: count['repositories reused'],
  skipped: count['repositories skipped'],
  failed: count['repositories failed'],
  bytes: bytes['repositories exported'],
  bytes_reused: bytes['repositories reused'],
  migrations_exported: count['migrations exported'],
  migrations_failed: count['migrations failed'],
  migrations_cancelled: count['migrations cancelled'],
})

const failureJson = ({ migration, notExported }: ServiceState['failures'][number]) => ({
  ...identityJson(migration),
  state: isPartial(migration) ? ('exported' as const) : ('failed' as const),
  ended_at: utcTimestampOrNull(migration.endedAt),
  reason: migration.reason,
  counts: migration.repositories,
  repositories: notExported.map(({ fullName, reason }) => ({ full_name: fullName, reason })),
})

const archiveJson = (migration: Summary) => ({
  ...identityJson(migration),
  bytes: migration.archive?.bytes ?? 0,
  expires_at: utcTimestampOrNull(migration.archive?.expiresAt ?? null),
})

const checksJson = ({ passed, failed, newestAt, problems }: ServiceState['checks']) => ({
  passed,
  failed,
  newest_at: utcTimestampOrNull(newestAt),
  problems: problems.map(({ fullName, checkedAt, reason }) => ({
    full_name: fullName,
    checked_at: utcTimestamp(checkedAt),
    reason: reason ?? '',
  })),
})

const workerJson = (worker: ServiceState['workers'][number]) => ({
  id: worker.id,
  host: worker.host,
  pid: worker.pid,
  role: worker.role,
  version: worker.version,
  concurrency: worker.concurrency,
  running_jobs: worker.runningJobs,
  started_at: utcTimestamp(worker.startedAt),
  seen_at: utcTimestamp(worker.seenAt),
  alive: worker.isAlive,
})
