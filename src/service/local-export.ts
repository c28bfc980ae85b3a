import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { lockDataDirectory } from '../db/connect.ts'
import { claimBlobStore, sweepOrphans, sweepSegments } from '../exporter/own-store.ts'
import { createScratch, sweepScratch } from '../exporter/scratch.ts'
import { createSegmentThreads } from '../exporter/segment-threads.ts'
import type { Config } from '../settings/config.ts'
import {
  dataPathsOf,
  openBlobs,
  openSource,
  requireGit,
  requireRepositories,
  SEGMENT_THREAD,
} from './data-paths.ts'
import { openDatabase } from './open-database.ts'
import { openForge, withForge } from './open-forge.ts'

export type LocalExport = Awaited<ReturnType<typeof openLocalExport>>

/**
 * Opens the dependencies of an export without a server. If `--data` is set, they are in its subdirectory `export`, which is kept so
 * that the next export reuses its segments; otherwise in a temporary directory in `nearby`. They never use the database, directory
 * or bucket of a service: the export has its own database, which does not know the service's blobs, so its sweep would delete them.
 */
export async function openLocalExport(
  config: Config,
  nearby: string,
  warn: (message: string) => void,
) {
  const root = requireRepositories(config)
  await using parts = new AsyncDisposableStack()
  // A configuration file names the directory of the service, which belongs to another user.
  const { from = 'default' } = config.origins.data ?? {}
  const isKept = from === 'flag' || from === 'environment'
  const data = isKept ? join(config.data, 'export') : await mkdtemp(join(nearby, '.godwit-export-'))
  if (!isKept) parts.defer(() => rm(data, { recursive: true, force: true }))
  parts.defer(lockDataDirectory(data))
  // A shared PostgreSQL belongs to the servers.
  const { db, close } = await openDatabase({ ...config, data, databaseUrl: undefined })
  parts.defer(close)

  const now = Date.now
  const paths = dataPathsOf({ ...config, data, blobs: undefined }, root)
  const blobs = await openBlobs(paths)
  await sweepScratch(paths.scratch, 0)
  const scratch = await createScratch(paths.scratch)
  parts.defer(() => scratch.release())
  if (isKept) {
    // The directory is only a cache, so it may have been deleted.
    await claimBlobStore(db, blobs, { isLost: true })
    await sweepOrphans({ db, blobs, now }, 0)
    parts.defer(() => sweepSegments({ db, blobs, now, segmentTtlMs: config.segmentTtl }))
  }
  const segments = createSegmentThreads({
    module: SEGMENT_THREAD,
    workerData: { ...paths, scratch: scratch.directory },
    count: config.concurrency,
  })
  parts.defer(() => segments.stop())
  const log = { warn: (_: object, message: string) => warn(message) }
  const forge = await openForge(config, { db, now, log })
  const source = withForge(openSource(paths), forge, { db, now, log })

  const opened = parts.move()
  return {
    db,
    source,
    blobs,
    segments,
    segmentCheckAgeMs: config.segmentCheckAge,
    scratch: scratch.directory,
    forge,
    now,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

export type LocalCheck = Awaited<ReturnType<typeof openLocalCheck>>

/** Opens the dependencies of checking repositories at the source. A server may be running meanwhile. */
export async function openLocalCheck(config: Config) {
  await using parts = new AsyncDisposableStack()
  const paths = dataPathsOf(config, requireRepositories(config))
  await requireGit(paths.git)
  const { db, close } = await openDatabase(config)
  parts.defer(close)
  const scratch = await createScratch(paths.scratch)
  parts.defer(() => scratch.release())
  const opened = parts.move()
  return {
    db,
    source: openSource(paths),
    scratchDirectory: scratch.directory,
    now: Date.now,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
