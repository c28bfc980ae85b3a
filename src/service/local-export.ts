import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobStore } from '../blobs/blob-store.ts'
import { lockDataDirectory } from '../db/data-directory-lock.ts'
import type { Db } from '../db/database.ts'
import { sweepScratch, takeScratch } from '../exporter/scratch.ts'
import type { SegmentMaker } from '../exporter/segment-maker.ts'
import { createSegmentThreads } from '../exporter/segment-threads.ts'
import { sweep, sweepOrphans } from '../exporter/sweep.ts'
import type { Config } from '../settings/config.ts'
import type { Forge } from '../sources/forge/connect-forge.ts'
import type { Source } from '../sources/source.ts'
import { dataPathsOf, openBlobs, openSource, SEGMENT_THREAD } from './data-paths.ts'
import { openDatabase } from './open-database.ts'
import { openForge, withForge } from './open-forge.ts'
import { requireRepositories } from './requirements.ts'

export interface LocalExport extends AsyncDisposable {
  db: Db
  source: Source
  blobs: BlobStore
  segments: SegmentMaker
  segmentCheckAgeMs: number
  scratch: string
  forge: Forge | undefined
  now: () => number
}

/**
 * What an export needs without a server. In a data directory that was named it has a place of its own, which is kept, so that
 * the next export finds what this one made; otherwise it is a throw-away one in `nearby`, where the room must be anyway.
 * It never touches what a service has, neither in that directory nor in a bucket: to its own database all of that would be
 * what nobody refers to.
 */
export async function openLocalExport(
  given: Config,
  nearby: string,
  warn: (words: string) => void,
): Promise<LocalExport> {
  const root = requireRepositories(given)
  await using parts = new AsyncDisposableStack()
  // A file speaks of the service's own directory, which is another user's.
  const { from = 'default' } = given.said.data ?? {}
  const isKept = from === 'flag' || from === 'environment'
  const data = isKept ? join(given.data, 'export') : await mkdtemp(join(nearby, '.godwit-export-'))
  if (!isKept) parts.defer(() => rm(data, { recursive: true, force: true }))
  parts.defer(lockDataDirectory(data))
  // The database of a cluster is its servers' to work on.
  const { db, close } = await openDatabase({ ...given, data, databaseUrl: undefined })
  parts.defer(close)

  const now = Date.now
  const places = dataPathsOf({ ...given, data, blobs: undefined }, root)
  const blobs = await openBlobs(places)
  await sweepScratch(places.scratch, 0)
  const scratch = await takeScratch(places.scratch)
  parts.defer(() => scratch.release())
  if (isKept) {
    await sweepOrphans({ db, blobs, now }, 0)
    parts.defer(() => sweep({ db, blobs, now, segmentTtlMs: given.segmentTtl }))
  }
  const segments = createSegmentThreads({
    module: SEGMENT_THREAD,
    workerData: { ...places, scratch: scratch.directory },
    count: given.concurrency,
  })
  parts.defer(() => segments.stop())
  const log = { warn: (_: object, words: string) => warn(words) }
  const forge = await openForge(given, { db, now, log })
  const source = withForge(openSource(places), forge, { db, now, log })

  const opened = parts.move()
  const dispose = () => opened.disposeAsync()
  const { directory } = scratch
  return {
    db,
    source,
    blobs,
    segments,
    segmentCheckAgeMs: given.segmentCheckAge,
    scratch: directory,
    forge,
    now,
    [Symbol.asyncDispose]: dispose,
  }
}
