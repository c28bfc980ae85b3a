import { createAddressFilter } from '@godwit/lib/outgoing-requests/address-filter'
import { createResolver } from '@godwit/lib/outgoing-requests/resolve-host'
import { repeatedly } from '@godwit/lib/timers'
import { sweepOrphans } from '../exporter/blob-store-owner.ts'
import { exportHandlers } from '../exporter/export-migration.ts'
import { createScratch, sweepScratch } from '../exporter/scratch.ts'
import { createSegmentThreads } from '../exporter/segment-threads.ts'
import { offsetTimestamps } from '../http/rendering/rendering.ts'
import { webhookPayload } from '../http/routes/webhooks/webhook-json.ts'
import { releaseAllJobs } from '../queue/embedded.ts'
import { RetryLater, type StartedWorker } from '../queue/queue.ts'
import { createDeliveries, DELIVERIES_AT_ONCE } from '../webhooks/deliver-webhook.ts'
import { SEGMENT_THREAD } from './data-paths.ts'
import { retryWhileDatabaseIsDown } from './database-errors.ts'
import { startHeartbeat } from './heartbeat.ts'
import { type HousekeepingSettings, SCRATCH_TTL_MS, startHousekeeping } from './housekeeping.ts'
import type { Log } from './log.ts'
import {
  openProcessDependencies,
  type ProcessDependencies,
  type ProcessSettings,
  releaseMemoryOnce,
} from './process-dependencies.ts'
import { VERSION } from './version.ts'

export interface ExporterSettings extends HousekeepingSettings {
  concurrency: number
  downloads: 'redirect' | 'proxy'
  timeZone: string
  webhookNetworks: string[] | undefined
}

/** Starts the exporter of this process, its webhook deliveries and its housekeeping. */
export async function startExporter(settings: ExporterSettings, shared: ProcessDependencies) {
  const { db, queue, now, log, isOnlyProcess, paths, source, onBlobError } = shared
  if (!source) throw new Error('an exporter needs --repositories')
  const dependencies = { ...shared, source }
  if (isOnlyProcess) {
    await releaseAllJobs(db, now())
    await sweepOrphans(dependencies, 0)
  }
  await sweepScratch(paths.scratch, isOnlyProcess ? 0 : SCRATCH_TTL_MS)
  const scratch = await createScratch(paths.scratch)

  const segments = createSegmentThreads({
    module: SEGMENT_THREAD,
    workerData: { ...paths, scratch: scratch.directory },
    count: settings.concurrency,
    onBlobError,
  })
  const handlers = exportHandlers({
    ...dependencies,
    segments,
    scratch: scratch.directory,
    archiveTtlMs: settings.archiveTtl,
    maxArchiveBytes: settings.maxArchiveBytes,
    segmentCheckAgeMs: settings.segmentCheckAge,
    isComposed: settings.downloads === 'redirect',
    generator: `godwit ${VERSION}`,
  })
  const working = queue.work(handlers, {
    concurrency: settings.concurrency,
    onError(err, job) {
      if (err instanceof RetryLater) log.warn({ job, reason: err.message }, 'job postponed')
      else log.error({ err, job }, 'job failed')
    },
  })
  const deliveries = startDeliveries(settings, dependencies)
  const housekeeping = startHousekeeping(settings, dependencies)
  async function stopAll(): Promise<void> {
    await Promise.all([housekeeping.stop(), deliveries.stop(), working.stop()])
    await segments.stop()
    await scratch.release()
  }
  let stopping: Promise<void> | undefined
  return {
    /** The directory of temporary snapshots. */
    scratch: scratch.directory,
    /** Stops the exporter; further calls return the same promise. */
    stop() {
      stopping ??= stopAll()
      return stopping
    },
  }
}

/** Parked events wait for this only after a crash. */
const RESUME_PARKED_INTERVAL_MS = 60_000

/** Starts the workers that deliver webhook events. They have their own queue, so that slow receivers do not delay exports. */
function startDeliveries(
  settings: ExporterSettings,
  dependencies: ProcessDependencies,
): StartedWorker {
  const { queue, log, addresses } = dependencies
  const migrationTime = offsetTimestamps(settings.timeZone)
  const deliveries = createDeliveries({
    ...dependencies,
    send: {
      isAllowed: createAddressFilter(settings.webhookNetworks ?? []),
      resolve: createResolver(),
    },
    version: VERSION,
    payloadOf: webhookPayload({ addresses, migrationTime, renderingVersion: '' }),
  })
  const working = queue.work(deliveries.handlers, {
    queue: 'webhooks',
    concurrency: DELIVERIES_AT_ONCE,
    onError(err, job) {
      // Failed attempts are listed with the deliveries of the webhook.
      if (!(err instanceof RetryLater)) log.error({ err, job }, 'webhook job failed')
    },
  })
  const resuming = repeatedly(deliveries.resumeParked, RESUME_PARKED_INTERVAL_MS, (err) =>
    log.error({ err }, 'could not resume webhook deliveries'),
  )
  return {
    async stop() {
      await resuming.stop()
      await working.stop()
    },
  }
}

export interface WorkerSettings extends ProcessSettings, ExporterSettings {}

/** Starts an exporter that shares its database with API processes. Disposing of the returned stack stops it. */
export function startWorker(settings: WorkerSettings, logging: Log): Promise<AsyncDisposableStack> {
  return retryWhileDatabaseIsDown(settings, logging.log, async () => {
    await using stack = new AsyncDisposableStack()
    const dependencies = await openProcessDependencies(settings, logging, stack)
    const { scratch, stop } = await startExporter(settings, dependencies)
    stack.defer(stop)
    startHeartbeat(
      dependencies,
      { role: 'worker', concurrency: settings.concurrency, scratch },
      stack,
    )
    releaseMemoryOnce(dependencies, stack)
    return stack.move()
  })
}
