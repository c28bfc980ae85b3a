import { exportHandlers } from '../exporter/export-migration.ts'
import { createSegmentThreads } from '../exporter/obtain-segment.ts'
import { sweepScratch, takeScratch } from '../exporter/scratch.ts'
import { sweepOrphans } from '../exporter/sweep.ts'
import { releaseAllJobs } from '../queue/embedded.ts'
import { RetryLater } from '../queue/queue.ts'
import type { Config } from '../settings/config.ts'
import { SCRATCH_TTL_MS, startHousekeeping } from './housekeeping.ts'
import type { ProcessParts } from './process-parts.ts'
import { SEGMENT_THREAD } from './segment-thread-address.ts'
import { startDeliveries } from './start-deliveries.ts'
import { VERSION } from './version.ts'

export interface RunningExporter {
  /** Where its snapshots are. */
  scratch: string
  /** However often it is called, it stops once. */
  stop(): Promise<void>
}

/** The exporter of this process and its housekeeping. */
export async function startExporter(
  config: Config,
  shared: ProcessParts,
): Promise<RunningExporter> {
  const { db, queue, now, log, isOnlyProcess, places, source, onBlobError } = shared
  if (!source) throw new Error('an exporter needs --repositories')
  const parts = { ...shared, source }
  if (isOnlyProcess) {
    await releaseAllJobs(db, now())
    await sweepOrphans(parts, 0)
  }
  await sweepScratch(places.scratch, isOnlyProcess ? 0 : SCRATCH_TTL_MS)
  const scratch = await takeScratch(places.scratch)

  const segments = createSegmentThreads({
    module: SEGMENT_THREAD,
    workerData: { ...places, scratch: scratch.directory },
    count: config.concurrency,
    onBlobError,
  })
  const handlers = exportHandlers({
    ...parts,
    segments,
    scratch: scratch.directory,
    archiveTtlMs: config.archiveTtl,
    segmentCheckAgeMs: config.segmentCheckAge,
    isComposed: config.downloads === 'redirect',
    generator: `godwit ${VERSION}`,
  })
  const working = queue.work(handlers, {
    concurrency: config.concurrency,
    onError(err, job) {
      if (err instanceof RetryLater) log.warn({ job, reason: err.message }, 'job waits')
      else log.error({ err, job }, 'job failed')
    },
  })
  const deliveries = startDeliveries(config, parts)
  const housekeeping = startHousekeeping(parts, {
    segmentTtlMs: config.segmentTtl,
    segmentCheckAgeMs: config.segmentCheckAge,
    archiveTtlMs: config.archiveTtl,
    lockTtlMs: config.lockTtl,
    migrationHistoryMs: config.migrationHistory,
    maxUnfinished: config.maxUnfinishedMigrations,
  })
  async function stopAll(): Promise<void> {
    await Promise.all([housekeeping.stop(), deliveries.stop(), working.stop()])
    await segments.stop()
    await scratch.release()
  }
  let stopping: Promise<void> | undefined
  return {
    scratch: scratch.directory,
    stop() {
      stopping ??= stopAll()
      return stopping
    },
  }
}
