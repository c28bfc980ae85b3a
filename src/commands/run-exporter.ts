import { mkdirSync, rmSync } from 'node:fs'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Config } from '../config.ts'
import type { Db } from '../db/connect.ts'
import { exportHandlers } from '../exporter/export-migration.ts'
import { createSegmentThreads } from '../exporter/segment-threads.ts'
import { sweep, sweepOrphans } from '../exporter/sweep.ts'
import { settleReleasedLocks } from '../migrations/locks.ts'
import { releaseAllJobs } from '../queue/job-store.ts'
import type { Queue } from '../queue/queue.ts'
import type { Addresses } from '../repositories/addresses.ts'
import type { Source } from '../sources/source.ts'
import type { Log } from './log.ts'
import type { ExportPlaces } from './parts.ts'
import { repeatedly } from './repeatedly.ts'
import { VERSION } from './version.ts'

export interface ExporterParts {
  db: Db
  source: Source
  blobs: BlobStore
  queue: Queue
  now: () => number
  addresses: Addresses
  log: Log['log']
  /** Nobody else works on this database: whatever looks unfinished was left by the dead. */
  isAlone: boolean
}

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** The exporter of this process and its housekeeping. Resolves, when it runs, to the function that stops it. */
export async function startExporter(
  config: Config,
  places: ExportPlaces,
  parts: ExporterParts,
): Promise<() => Promise<void>> {
  const { db, blobs, queue, now, log, isAlone } = parts
  if (isAlone) {
    rmSync(places.scratch, { recursive: true, force: true })
    await releaseAllJobs(db, now())
    await sweepOrphans(parts, 0)
  }
  mkdirSync(places.scratch, { recursive: true, mode: 0o700 })

  const segments = createSegmentThreads({
    module: new URL('./segment-thread.ts', import.meta.url),
    workerData: places,
    count: config.concurrency,
  })
  const handlers = exportHandlers({
    ...parts,
    segments,
    archiveTtlMs: config.archiveTtl,
    generator: `godwit ${VERSION}`,
  })
  const working = queue.work(handlers, {
    concurrency: config.concurrency,
    onTrouble: (err, job) => log.error({ err, job }, 'a job failed'),
  })
  const housekeeping = repeatedly(
    async () => {
      await settleReleasedLocks(parts)
      await sweep({ db, blobs, now, segmentTtlMs: config.segmentTtl })
    },
    MINUTE,
    (err) => log.error({ err }, 'housekeeping failed'),
  )
  const sweeping = repeatedly(
    () => sweepOrphans(parts, DAY),
    DAY / 24,
    (err) => log.error({ err }, 'sweeping failed'),
  )
  return async () => {
    await Promise.all([housekeeping.stop(), sweeping.stop()])
    await working.stop()
    await segments.stop()
  }
}
