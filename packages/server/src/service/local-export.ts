import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { lockDataDirectory } from '../db/connect.ts'
import { claimBlobStore, sweepOrphans, sweepSegments } from '../exporter/blob-store-owner.ts'
import { createScratch, sweepScratch } from '../exporter/scratch.ts'
import { createSegmentThreads } from '../exporter/segment-threads.ts'
import {
  dataPathsOf,
  openBlobs,
  openSource,
  requireGit,
  requireRepositories,
  SEGMENT_THREAD,
  type SourceSettings,
  scratchOf,
  sourcePathsOf,
} from './data-paths.ts'
import { type ForgeSettings, openConfiguredForge, withForge } from './open-configured-forge.ts'
import { type DatabaseSettings, openDatabase } from './open-database.ts'

export type LocalExport = Awaited<ReturnType<typeof openLocalExport>>

export interface LocalExportSettings extends Omit<SourceSettings, 'data'>, ForgeSettings {
  repositories: string | undefined
  cloneUrl: string
  concurrency: number
  segmentTtl: number
  segmentCheckAge: number
}

interface LocalExportOptions {
  /** A directory that is kept, so that the next export reuses its segments; undefined for a temporary directory in `nearby`. */
  cache: string | undefined
  nearby: string
  warn(message: string): void
}

/**
 * Opens the dependencies of an export without a server. They never use the database, directory
 * or bucket of a service: the export has its own database, which does not know the service's blobs, so its sweep would delete them.
 */
export async function openLocalExport(
  settings: LocalExportSettings,
  { cache, nearby, warn }: LocalExportOptions,
) {
  const root = requireRepositories(settings.repositories)
  await using resources = new AsyncDisposableStack()
  const data = cache ?? (await mkdtemp(join(nearby, '.godwit-export-')))
  if (cache === undefined) resources.defer(() => rm(data, { recursive: true, force: true }))
  resources.defer(lockDataDirectory(data))
  const own = { data, blobs: undefined, s3Endpoint: undefined }
  // A shared PostgreSQL belongs to the servers.
  const { db, close } = await openDatabase({ ...own, databaseUrl: undefined })
  resources.defer(close)

  const now = Date.now
  const paths = dataPathsOf({ ...settings, ...own }, root)
  const blobs = await openBlobs(paths.blobs)
  await sweepScratch(paths.scratch, 0)
  const scratch = await createScratch(paths.scratch)
  resources.defer(() => scratch.release())
  if (cache !== undefined) {
    // The directory is only a cache, so it may have been deleted.
    await claimBlobStore(db, blobs, { isLost: true })
    await sweepOrphans({ db, blobs, now }, 0)
    resources.defer(() => sweepSegments({ db, blobs, now, segmentTtlMs: settings.segmentTtl }))
  }
  const segments = createSegmentThreads({
    module: SEGMENT_THREAD,
    workerData: { ...paths, scratch: scratch.directory },
    count: settings.concurrency,
  })
  resources.defer(() => segments.stop())
  const log = { warn: (_: object, message: string) => warn(message) }
  const forge = await openConfiguredForge(settings, { db, now, log })
  const source = withForge(openSource(paths), forge, { db, now, log })

  const opened = resources.move()
  return {
    db,
    source,
    blobs,
    segments,
    segmentCheckAgeMs: settings.segmentCheckAge,
    scratch: scratch.directory,
    forge,
    now,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

export type LocalCheck = Awaited<ReturnType<typeof openLocalCheck>>

interface LocalCheckSettings extends SourceSettings, DatabaseSettings {
  repositories: string | undefined
}

/** Opens the dependencies of checking repositories at the source. A server may be running meanwhile. */
export async function openLocalCheck(settings: LocalCheckSettings) {
  await using resources = new AsyncDisposableStack()
  const paths = sourcePathsOf(settings, requireRepositories(settings.repositories))
  await requireGit(paths.git)
  const { db, close } = await openDatabase(settings)
  resources.defer(close)
  const scratch = await createScratch(scratchOf(settings))
  resources.defer(() => scratch.release())
  const opened = resources.move()
  return {
    db,
    source: openSource(paths),
    scratchDirectory: scratch.directory,
    now: Date.now,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
