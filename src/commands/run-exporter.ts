import type { Config } from '../config.ts'
import { exportHandlers } from '../exporter/export-migration.ts'
import { sweepScratch } from '../exporter/scratch.ts'
import { createSegmentThreads } from '../exporter/segment-threads.ts'
import { sweep, sweepOrphans } from '../exporter/sweep.ts'
import { settleReleasedLocks } from '../migrations/locks.ts'
import { releaseAllJobs } from '../queue/job-store.ts'
import type { Foundation } from './foundation.ts'
import { repeatedly } from './repeatedly.ts'
import { VERSION } from './version.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** The exporter of this process and its housekeeping. Resolves, when it runs, to the function that stops it. */
export async function startExporter(
  config: Config,
  foundation: Foundation,
): Promise<() => Promise<void>> {
  const { db, blobs, queue, now, log, isAlone, places, source } = foundation
  if (!source) throw new Error('an exporter needs the repositories at hand')
  const parts = { ...foundation, source }
  if (isAlone) {
    await releaseAllJobs(db, now())
    await sweepOrphans(parts, 0)
  }
  await sweepScratch(places.scratch, isAlone ? 0 : 2 * DAY)

  const segments = createSegmentThreads({
    module: new URL('./segment-thread.ts', import.meta.url),
    workerData: places,
    count: config.concurrency,
  })
  const handlers = exportHandlers({
    ...parts,
    segments,
    archiveTtlMs: config.archiveTtl,
    isComposed: config.downloads === 'redirect',
    generator: `godwit ${VERSION}`,
  })
  const working = queue.work(handlers, {
    concurrency: config.concurrency,
    onTrouble: (err, job) => log.error({ err, job }, 'a job failed'),
  })
  const housekeeping = [
    repeatedly(
      () => settleReleasedLocks(parts),
      MINUTE,
      (err) => log.error({ err }, 'settling locks failed'),
    ),
    repeatedly(
      () => sweep({ db, blobs, now, segmentTtlMs: config.segmentTtl }),
      MINUTE,
      (err) => log.error({ err }, 'sweeping failed'),
    ),
    repeatedly(
      async () => {
        await sweepOrphans(parts, DAY)
        await sweepScratch(places.scratch, 2 * DAY)
      },
      DAY / 24,
      (err) => log.error({ err }, 'sweeping orphans failed'),
    ),
  ]
  return async () => {
    await Promise.all(housekeeping.map((task) => task.stop()))
    await working.stop()
    await segments.stop()
  }
}
