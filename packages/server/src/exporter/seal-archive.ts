import { randomUUID } from 'node:crypto'
import { SegmentDamaged } from '@godwit/archive/tar/copy-archive'
import { type ArchivePlan, planArchive } from '@godwit/archive/tar/plan-archive'
import { mapConcurrent } from '@godwit/lib/turns'
import { type BlobStore, type ComposingStore, isComposing } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { endMigration } from '../migrations/end-migration.ts'
import {
  type ExportedRepository,
  exportedRepositories,
  organizationsIn,
} from '../migrations/export-store.ts'
import type { Migration } from '../migrations/migration.ts'
import { lockScope } from '../migrations/migration-store.ts'
import type { RepositoryWithMissingBlobs } from '../migrations/outcome-store.ts'
import { ArchiveQuotaExceeded, requireQuota } from '../migrations/quota.ts'
import { type CheckedSegment, insertSegment } from '../migrations/segment-store.ts'
import type { Queue } from '../queue/queue.ts'
import { fullNameOf } from '../repositories/repository-metadata.ts'
import {
  contentsOfAll,
  type MetadataWriterDependencies,
  segmentKeysOf,
  writeMetadata,
} from './metadata/write-metadata.ts'
import { storedLength } from './read-digest.ts'

export interface SealDependencies extends MetadataWriterDependencies {
  queue: Queue
  archiveTtlMs: number
  /** The quota of archives of owners without one of their own; none by default. */
  maxArchiveBytes?: number | undefined
  /** Whether archives are also composed to one blob, which clients download from the store, if the store supports that. */
  isComposed: boolean
}

/** The result of a seal job: a function that records the archive, or the reason why the migration failed. */
type Sealed =
  | { record(tx: Db): Promise<void> }
  | {
      reason: string
      missing?: readonly RepositoryWithMissingBlobs[]
      /** Keys of segments that are not kept for a retry. */
      dropped?: readonly string[]
    }

/**
 * Called when all repositories have ended. Unless the migration has failed, writes the metadata and the manifest: the archive is the
 * list of all segments.
 */
export async function sealArchive(
  dependencies: SealDependencies,
  migration: Migration,
  signal: AbortSignal,
): Promise<Sealed> {
  const { db, now, archiveTtlMs } = dependencies
  const repositories = await exportedRepositories(db, migration)
  const reason = failureOf(repositories)
  if (reason) return { reason }

  const organizations = await organizationsIn(db, migration)
  const contents = await contentsOfAll(db, repositories)
  const since = now() - LENGTH_TRUSTED_MS
  const old = [...contents.segments.values()].filter(
    ({ lastUsedAt, damagedAt }) => lastUsedAt < since || damagedAt !== null,
  )
  const missing = await findMissingSegments(dependencies.blobs, old, signal)
  if (missing.length > 0)
    return missingBlobsResult(repositories, new Set(missing.map(({ key }) => key)))
  const covered = { migration, repositories, organizations, contents, viewer: migration.owner }
  const archive = await writeMetadata(dependencies, covered, signal).catch((error: unknown) => {
    if (error instanceof SegmentDamaged) return { damaged: error.key }
    throw error
  })
  if ('damaged' in archive) return missingBlobsResult(repositories, new Set([archive.damaged]))
  const plan = planArchive(archive.all)
  const { blobs } = dependencies
  const ownKeys = [archive.metadata.key, archive.manifest.key]
  const requireSpace = (db: Db) =>
    requireQuota(db, migration, plan.length, dependencies.maxArchiveBytes).catch(async (error) => {
      for (const key of ownKeys) await blobs.delete(key)
      throw error
    })
  try {
    await requireSpace(db)
  } catch (error) {
    if (!(error instanceof ArchiveQuotaExceeded)) throw error
    return { reason: error.errors[0]!.message!, dropped: repositories.flatMap(segmentKeysOf) }
  }
  const key = randomUUID()
  const isComposed =
    dependencies.isComposed &&
    isComposing(blobs) &&
    (await composeArchive(plan, blobs, key, { signal }))
  if (isComposed) ownKeys.push(key)
  return {
    async record(tx) {
      // Another archive of the owner may be recorded at the same time. If that fills the quota, the job fails and is repeated.
      await lockScope(tx, migration)
      await requireSpace(tx)
      for (const segment of [archive.metadata, archive.manifest]) {
        await insertSegment(tx, segment, now())
      }
      const expiresAt = now() + archiveTtlMs
      await endMigration(dependencies, tx, migration.id, 'exported', {
        archive: {
          bytes: plan.length,
          incomplete: repositories.filter(({ missingLfs }) => missingLfs > 0).length,
          expiresAt,
          metadataKey: archive.metadata.key,
          manifestKey: archive.manifest.key,
          ...(isComposed && { key }),
        },
      })
    },
  }
}

const MISSING_BLOBS_REASON = 'its exported data was lost; retry the migration to export it again'

function missingBlobsResult(
  repositories: readonly ExportedRepository[],
  keys: ReadonlySet<string>,
): Sealed {
  const missing = repositories
    .map((each) => ({ ...each, segmentKeys: segmentKeysOf(each).filter((key) => keys.has(key)) }))
    .filter(({ segmentKeys }) => segmentKeys.length > 0)
  return {
    reason: missing
      .map(({ metadata }) => withName(fullNameOf(metadata), MISSING_BLOBS_REASON))
      .join('\n'),
    missing: missing.map(({ position, segmentKeys }) => ({
      position,
      segmentKeys,
      reason: MISSING_BLOBS_REASON,
    })),
  }
}

/**
 * Composes the archive to one blob in the store, without downloading large segments. Returns false if the store does not accept so
 * many parts. If it fails, no blob is left behind.
 */
export async function composeArchive(
  plan: ArchivePlan,
  blobs: BlobStore & ComposingStore,
  key: string,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<boolean> {
  if (!(await blobs.compose(key, plan.parts, { signal }))) return false
  const length = await blobs.size(key)
  if (length === plan.length) return true
  // The stored length of a segment differs from its row.
  await blobs.delete(key)
  throw new Error(`the composed archive has ${length} bytes instead of ${plan.length}`)
}

/**
 * Returns why the migration failed, with a line for each repository that was not exported, or undefined if it did not fail. Skipped
 * repositories are a failure only if all were skipped.
 */
export function failureOf(repositories: readonly ExportedRepository[]): string | undefined {
  const notExported = repositories.filter(({ reason }) => reason !== null)
  if (notExported.length === 0) return undefined
  const hasFailed = notExported.some(({ outcome }) => outcome === 'failed')
  if (!hasFailed && notExported.length < repositories.length) return undefined
  return notExported
    .map(({ metadata, reason }) => withName(fullNameOf(metadata), reason!))
    .join('\n')
}

/** Adds the name of the repository to a reason. Reasons from the source begin with it already, or with that of the wiki. */
export function withName(fullName: string, reason: string): string {
  return reason.startsWith(fullName) ? reason : `${fullName}: ${reason}`
}

const LENGTH_CHECK_CONCURRENCY = 16
/** The length of a segment was checked when it was last used. It is not checked again within this time, to save requests. */
const LENGTH_TRUSTED_MS = 60_000

/**
 * Returns the segments that are recorded as damaged, missing in the store, or stored with another length, which may happen after the
 * database or the store was restored from a backup. An archive with such segments could not be downloaded.
 */
export async function findMissingSegments(
  blobs: BlobStore,
  segments: readonly CheckedSegment[],
  signal: AbortSignal,
): Promise<CheckedSegment[]> {
  const areMissing = await mapConcurrent(
    segments,
    { concurrency: LENGTH_CHECK_CONCURRENCY, signal },
    async ({ key, length, damagedAt }) =>
      damagedAt !== null || (await storedLength(blobs, key)) !== length,
  )
  return segments.filter((_, at) => areMissing[at])
}
