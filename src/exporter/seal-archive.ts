import { randomUUID } from 'node:crypto'
import { SegmentDamaged } from '../archive/copy-archive.ts'
import { type ArchivePlan, planArchive } from '../archive/plan-archive.ts'
import { type BlobStore, type ComposingStore, isComposing } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { mapConcurrent } from '../lib/map-concurrent.ts'
import { endMigration } from '../migrations/end-migration.ts'
import {
  type ExportedRepository,
  exportedRepositories,
  organizationsIn,
} from '../migrations/export-store.ts'
import type { Migration } from '../migrations/migration.ts'
import type { LostRepository } from '../migrations/outcome-store.ts'
import {
  type CheckedSegment,
  insertSegment,
  type SegmentRecord,
} from '../migrations/segment-store.ts'
import type { Queue } from '../queue/queue.ts'
import { fullNameOf } from '../repositories/facts.ts'
import { coveredOrganizations } from './metadata/covered-organizations.ts'
import {
  contentsOfAll,
  type MetadataWriterParts,
  segmentKeysOf,
  writeMetadata,
} from './metadata/write-metadata.ts'
import { storedLength } from './read-digest.ts'

export interface SealParts extends MetadataWriterParts {
  queue: Queue
  archiveTtlMs: number
  /** Whether archives are also composed to one blob that clients download from the store, if the store supports that. */
  isComposed: boolean
}

/** What the end of the job writes to the database. */
export type Sealed =
  | { record(tx: Db): Promise<void> }
  | { reason: string; lost?: readonly LostRepository[] }

/**
 * Called when all repositories have ended. Either the migration has failed, or this writes the metadata and the manifest, and the
 * archive is the list of all segments.
 */
export async function sealArchive(
  parts: SealParts,
  migration: Migration,
  signal: AbortSignal,
): Promise<Sealed> {
  const { db, now, archiveTtlMs } = parts
  const repositories = await exportedRepositories(db, migration)
  const reason = failureOf(repositories)
  if (reason) return { reason }

  const named = await organizationsIn(db, migration)
  const organizations = await coveredOrganizations(db, named, repositories, migration.owner)
  const contents = await contentsOfAll(db, repositories)
  const since = now() - LENGTH_TRUSTED_MS
  const old = [...contents.segments.values()].filter(
    ({ lastUsedAt, damagedAt }) => lastUsedAt < since || damagedAt !== null,
  )
  const lost = await lostSegments(parts.blobs, old, signal)
  if (lost.length > 0) return endAsLost(repositories, keysOf(lost))
  const covered = { migration, repositories, organizations, contents, viewer: migration.owner }
  const archive = await writeMetadata(parts, covered, signal).catch((error: unknown) => {
    if (error instanceof SegmentDamaged) return { damaged: error.key }
    throw error
  })
  if ('damaged' in archive) return endAsLost(repositories, new Set([archive.damaged]))
  const plan = planArchive(archive.all)
  const { blobs } = parts
  const composed: { key?: string } = {}
  if (parts.isComposed && isComposing(blobs)) {
    composed.key = randomUUID()
    await composeArchive(plan, blobs, composed.key, { signal })
  }
  return {
    async record(tx) {
      for (const segment of [archive.metadata, archive.manifest]) {
        await insertSegment(tx, segment, now())
      }
      const expiresAt = now() + archiveTtlMs
      await endMigration(parts, tx, migration.id, 'exported', {
        archive: {
          bytes: plan.length,
          expiresAt,
          metadataKey: archive.metadata.key,
          manifestKey: archive.manifest.key,
          ...composed,
        },
      })
    },
  }
}

const LOST_REASON = 'its exported data was lost; retry the migration to export it again'

function endAsLost(repositories: readonly ExportedRepository[], keys: ReadonlySet<string>): Sealed {
  const gone = repositories
    .map((each) => ({ ...each, segmentKeys: segmentKeysOf(each).filter((key) => keys.has(key)) }))
    .filter(({ segmentKeys }) => segmentKeys.length > 0)
  return {
    reason: gone.map(({ facts }) => withName(fullNameOf(facts), LOST_REASON)).join('\n'),
    lost: gone.map(({ position, segmentKeys }) => ({ position, segmentKeys, reason: LOST_REASON })),
  }
}

/** Composes the archive to one blob in the store, without downloading large segments. Leaves nothing if it fails. */
export async function composeArchive(
  plan: ArchivePlan,
  blobs: BlobStore & ComposingStore,
  key: string,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<void> {
  await blobs.compose(key, plan.parts, { signal })
  const length = await blobs.size(key)
  if (length === plan.length) return
  // A segment does not have the length of its description.
  await blobs.delete(key)
  throw new Error(`an archive of ${plan.length} bytes was composed with ${length}`)
}

/**
 * Returns why there is no archive, with a line for each repository that was not exported, or undefined if there is one. Skipped
 * repositories are a reason only if all were skipped.
 */
export function failureOf(repositories: readonly ExportedRepository[]): string | undefined {
  const notExported = repositories.filter(({ reason }) => reason !== null)
  if (notExported.length === 0) return undefined
  const hasFailed = notExported.some(({ outcome }) => outcome === 'failed')
  if (!hasFailed && notExported.length < repositories.length) return undefined
  return notExported.map(({ facts, reason }) => withName(fullNameOf(facts), reason!)).join('\n')
}

/** Reasons from the source begin with the name of the repository or its wiki. Others get it here. */
export function withName(fullName: string, reason: string): string {
  return reason.startsWith(fullName) ? reason : `${fullName}: ${reason}`
}

const keysOf = (segments: readonly SegmentRecord[]): ReadonlySet<string> =>
  new Set(segments.map(({ key }) => key))

const LENGTH_CHECK_CONCURRENCY = 16
/** A segment that was taken into use so recently had its length then. Checking each again would cost as much as reusing it. */
const LENGTH_TRUSTED_MS = 60_000

/**
 * Returns the segments that are known to be damaged, or that the store lacks or has with another length, as may happen after the
 * database or the store was restored from a backup. An archive with such segments could not be downloaded.
 */
export async function lostSegments(
  blobs: BlobStore,
  segments: readonly CheckedSegment[],
  signal: AbortSignal,
): Promise<CheckedSegment[]> {
  const lost: CheckedSegment[] = []
  await mapConcurrent(
    segments,
    { concurrency: LENGTH_CHECK_CONCURRENCY, signal },
    async (segment) => {
      const { key, length, damagedAt } = segment
      if (damagedAt !== null || (await storedLength(blobs, key)) !== length) lost.push(segment)
    },
  )
  return lost
}
