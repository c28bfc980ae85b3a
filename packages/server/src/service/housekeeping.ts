import type { Source } from '@godwit/hosts/source'
import { type Repeated, repeatedly } from '@godwit/lib/timers'
import { sweepAudit } from '../accounts/audit-log.ts'
import { sweepSessions } from '../accounts/session-store.ts'
import { sweepTokens } from '../accounts/token-store.ts'
import { acquireLease, whileRenewing } from '../db/lease-store.ts'
import { sweepArchives, sweepOrphans, sweepSegments } from '../exporter/blob-store-owner.ts'
import { checkStore } from '../exporter/check-segments.ts'
import { sweepScratch } from '../exporter/scratch.ts'
import { reconcileReleasedLocks } from '../migrations/locks.ts'
import { sweepHistory } from '../migrations/migration-store.ts'
import { sweepMetadata } from '../migrations/repository-list-store.ts'
import { sweepDiscussions } from '../repositories/discussion-store.ts'
import { keepArchives } from '../schedules/keep-archives.ts'
import { runDueSchedules } from '../schedules/run-schedule.ts'
import { sweepDeliveries } from '../webhooks/delivery-store.ts'
import type { ProcessDependencies } from './process-dependencies.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Scratch files that are older were left by a process that died. */
export const SCRATCH_TTL_MS = 2 * DAY_MS

/** Durations are in milliseconds. */
export interface HousekeepingSettings {
  segmentTtl: number
  segmentCheckAge: number
  archiveTtl: number
  auditRetention: number
  lockTtl: number
  migrationHistory: number
  maxUnfinishedMigrations: number
  maxArchiveBytes: number
}

type HousekeepingDependencies = ProcessDependencies & { source: Source }

/** Returns a 24th of the time after which unused segments are deleted, but at least a minute and at most an hour. */
const segmentSweepMs = (segmentTtlMs: number): number =>
  Math.min(HOUR_MS, Math.max(MINUTE_MS, segmentTtlMs / 24))

/** Starts the periodic tasks: expiry, locks, sweeping. One process at a time runs each of them; every process sweeps scratch files. */
export function startHousekeeping(
  settings: HousekeepingSettings,
  dependencies: HousekeepingDependencies,
): Repeated {
  const { db, isOnlyProcess, now, log, paths } = dependencies
  const options = {
    segmentTtlMs: settings.segmentTtl,
    archiveTtlMs: settings.archiveTtl,
    lockTtlMs: settings.lockTtl,
    migrationHistoryMs: settings.migrationHistory,
    maxUnfinished: settings.maxUnfinishedMigrations,
    maxArchiveBytes: settings.maxArchiveBytes,
  }

  const repeat = (name: string, everyMs: number, task: () => Promise<unknown>) =>
    repeatedly(task, everyMs, (err) => log.error({ err }, `${name} failed`))

  const stopping = new AbortController()
  const { signal } = stopping
  /** Runs the task in one process at a time. The signal aborts when the service stops or another process took over. */
  const repeatInOneProcess = (
    name: string,
    everyMs: number,
    task: (signal: AbortSignal) => Promise<unknown>,
  ) =>
    repeat(name, everyMs, async () => {
      const lease = !isOnlyProcess && (await acquireLease(db, { name, ttlMs: everyMs, now: now() }))
      if (!isOnlyProcess && !lease) return
      log.debug({ housekeeping: name }, 'housekeeping task started')
      await (lease ? whileRenewing({ db, lease, now, signal }, task) : task(signal))
    })

  /** Deletes also on a full disk, which would never have space again otherwise. */
  const sweepInOneProcess = (name: string, everyMs: number, task: () => Promise<unknown>) =>
    repeatInOneProcess(name, everyMs, () =>
      dependencies.reserve ? dependencies.reserve.withReserve(task) : task(),
    )

  const tasks = [
    repeatInOneProcess('reconciling locks', MINUTE_MS, () => reconcileReleasedLocks(dependencies)),
    sweepInOneProcess('sweeping', MINUTE_MS, async () => {
      // First, because archives that a schedule keeps do not expire.
      await keepArchives({ ...dependencies, ...options })
      await sweepArchives({ ...dependencies, ...options })
    }),
    sweepInOneProcess('sweeping segments', segmentSweepMs(settings.segmentTtl), () =>
      sweepSegments({ ...dependencies, ...options }),
    ),
    repeatInOneProcess('running schedules', 15 * SECOND_MS, async () => {
      // Before the repository index is read, repositories would seem to be missing.
      if (dependencies.isIndexRead()) await runDueSchedules({ ...dependencies, ...options })
    }),
    sweepInOneProcess('sweeping sessions', HOUR_MS, () => sweepSessions(db, now())),
    sweepInOneProcess('sweeping tokens', DAY_MS, () => sweepTokens(db, now())),
    sweepInOneProcess('sweeping webhook deliveries', HOUR_MS, () => sweepDeliveries(db, now())),
    sweepInOneProcess('sweeping history', HOUR_MS, async () => {
      const removed = await sweepHistory({ ...dependencies, ...options })
      if (removed > 0) log.info({ migrations: removed }, 'old migrations removed')
    }),
    sweepInOneProcess('sweeping the audit log', HOUR_MS, () =>
      sweepAudit(db, { now: now(), retentionMs: settings.auditRetention }),
    ),
    repeatInOneProcess('sweeping metadata', DAY_MS, () => sweepMetadata(db, now())),
    repeatInOneProcess('sweeping discussions', DAY_MS, () => sweepDiscussions(db, now)),
    repeatInOneProcess('checking stored data', MINUTE_MS, (signal) =>
      checkOldest(dependencies, settings.segmentCheckAge, signal),
    ),
    repeatInOneProcess('sweeping orphans', HOUR_MS, () => sweepOrphans(dependencies, DAY_MS)),
    repeat('sweeping scratch', HOUR_MS, () => sweepScratch(paths.scratch, SCRATCH_TTL_MS)),
  ]
  return {
    async stop() {
      stopping.abort()
      await Promise.all(tasks.map((task) => task.stop()))
    },
  }
}

/** How much stored data one run checks: at most about 2.6 TB a week. The speed is limited, so that other work is not slowed down. */
const MAX_CHECKED = { bytes: 256 * 2 ** 20, blobs: 1000 }
const CHECKED_BYTES_PER_SECOND = 16 * 2 ** 20

/** Checks stored data, starting with that whose last check is oldest. */
async function checkOldest(
  dependencies: HousekeepingDependencies,
  segmentCheckAgeMs: number,
  signal: AbortSignal,
): Promise<void> {
  const before = dependencies.now() - segmentCheckAgeMs
  const options = { before, bytesPerSecond: CHECKED_BYTES_PER_SECOND }
  let [bytes, blobs] = [0, 0]
  try {
    for await (const checked of checkStore(dependencies, options, signal)) {
      bytes += checked.bytes
      blobs += 1
      if (bytes >= MAX_CHECKED.bytes || blobs >= MAX_CHECKED.blobs) return
    }
  } catch (error) {
    // An aborted check is repeated later.
    if (!signal.aborted) throw error
  }
}
