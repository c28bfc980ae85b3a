import type * as wire from '@godwit/contract/schemas/types'
import type { Forecast } from '../../../migrations/forecast.ts'
import type { Progress, Report, RepositoryProgress } from '../../../migrations/progress.ts'
import { totalsOf } from '../../../migrations/progress.ts'
import type { Quota } from '../../../migrations/quota.ts'
import type { RetryForecast } from '../../../migrations/retry-migration.ts'
import { utcTimestampOrNull } from '../../rendering/rendering.ts'

export function repositoryProgressJson(repository: RepositoryProgress): wire.RepositoryProgress {
  return {
    full_name: repository.fullName,
    state: repository.state,
    phase: repository.phase,
    bytes_done: repository.bytesDone,
    bytes_expected: repository.bytesExpected,
    reused: repository.reused,
    reason: repository.reason,
    warning: repository.warning,
    missing_lfs_objects: repository.missingLfs,
    started_at: utcTimestampOrNull(repository.startedAt),
    finished_at: utcTimestampOrNull(repository.finishedAt),
    records: recordsJson(repository.records),
  }
}

function recordsJson(records: RepositoryProgress['records']): wire.RepositoryProgress['records'] {
  if (!records) return null
  return {
    done: records.done,
    expected: records.expected,
    as_of: utcTimestampOrNull(records.asOf),
    waiting_until: utcTimestampOrNull(records.waitingUntil),
    waiting_for: records.waitingFor,
    losses: [...records.losses],
  }
}

export function totalsJson(progress: Progress, now: number): wire.Progress['totals'] {
  const totals = totalsOf(progress, now)
  return {
    repositories: totals.repositories,
    exported: totals.exported,
    reused: totals.reused,
    incomplete: totals.incomplete,
    skipped: totals.skipped,
    failed: totals.failed,
    remaining: totals.remaining,
    phase: totals.phase,
    percent: totals.percent,
    bytes_done: totals.bytesDone,
    bytes_expected: totals.bytesExpected,
    bytes_per_second: totals.bytesPerSecond,
    seconds_left: totals.secondsLeft,
    records_done: totals.recordsDone,
    records_expected: totals.recordsExpected,
    waiting_until: utcTimestampOrNull(totals.waitingUntil),
    stalled_since: utcTimestampOrNull(totals.stall?.since ?? null),
    waiting_for: totals.stall?.waitingFor ?? null,
  }
}

export function progressJson(progress: Progress, now: number): wire.Progress {
  return {
    state: progress.state,
    reason: progress.reason,
    started_at: utcTimestampOrNull(progress.startedAt),
    ended_at: utcTimestampOrNull(progress.endedAt),
    totals: totalsJson(progress, now),
    repositories: progress.repositories.map(repositoryProgressJson),
  }
}

export function reportJson(report: Report, now: number): wire.Report {
  const { migration, progress, seconds, warnings } = report
  return {
    id: migration.id,
    guid: migration.guid,
    login: migration.owner.login,
    seconds,
    warnings,
    ...progressJson(progress, now),
  }
}

export function retryForecastJson({ broken, isUnchanged }: RetryForecast): wire.RetryForecast {
  return {
    broken: broken.map(({ fullName, reason, isMissing, isChanged }) => ({
      full_name: fullName,
      reason,
      gone: isMissing,
      changed: isChanged,
    })),
    unchanged: isUnchanged,
  }
}

export function forecastJson({
  repositories,
  bytesToWrite,
  freeBytes,
  seconds,
  quota,
  warnings,
}: Forecast): wire.Forecast {
  return {
    repositories: repositories.map((repository) => ({
      full_name: repository.fullName,
      bytes: repository.bytes,
      lfs_bytes: repository.lfsBytes,
      reused: repository.reused,
      reason: repository.reason,
      warning: repository.warning,
    })),
    bytes_to_write: bytesToWrite,
    free_bytes: freeBytes,
    estimated_seconds: seconds,
    quota: quotaJson(quota),
    warnings,
  }
}

export const quotaJson = ({ max, used }: Quota): wire.Quota => ({
  max_bytes: max === Number.POSITIVE_INFINITY ? null : max,
  used_bytes: used,
})
