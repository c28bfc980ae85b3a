import { randomUUID } from 'node:crypto'
import { composeArchive } from '../archive/compose-archive.ts'
import { SegmentDamaged } from '../archive/copy-archive.ts'
import { type ArchivePlan, planArchive } from '../archive/plan-archive.ts'
import { type BlobStore, isComposing } from '../blobs/blob-store.ts'
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
  /** Whether clients are to fetch archives from the store itself, where it can give them out. */
  isComposed: boolean
}

/** Written to the database with the end of the job, or not at all. */
export type Sealed =
  | { record(tx: Db): Promise<void> }
  | { reason: string; lost?: readonly LostRepository[] }

/**
 * All repositories have come to an end: either the migration failed, or the metadata is written and the archive is the
 * list of its segments and theirs.
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
    ({ namedAt, damagedAt }) => namedAt < since || damagedAt !== null,
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
  const composed = await composeWhole(parts, plan, signal)
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

const LOST = 'its exported data was lost; retry the migration to export it again'

function endAsLost(repositories: readonly ExportedRepository[], keys: ReadonlySet<string>): Sealed {
  const gone = repositories
    .map((each) => ({ ...each, segmentKeys: segmentKeysOf(each).filter((key) => keys.has(key)) }))
    .filter(({ segmentKeys }) => segmentKeys.length > 0)
  return {
    reason: gone.map(({ facts }) => withName(fullNameOf(facts), LOST)).join('\n'),
    lost: gone.map(({ position, segmentKeys }) => ({ position, segmentKeys, reason: LOST })),
  }
}

/** Where the store can, the archive also becomes one object that clients fetch from the store itself. */
async function composeWhole(
  { blobs, isComposed }: SealParts,
  plan: ArchivePlan,
  signal: AbortSignal,
): Promise<{ key?: string }> {
  if (!isComposed || !isComposing(blobs)) return {}
  const key = randomUUID()
  await composeArchive(plan, blobs, key, { signal })
  return { key }
}

/**
 * Why there is to be no archive, a line for each repository that could not be exported; undefined when there is. Repositories that
 * were skipped are no reason, unless nothing else is left.
 */
export function failureOf(repositories: readonly ExportedRepository[]): string | undefined {
  const others = repositories.filter(({ reason }) => reason !== null)
  if (others.length === 0) return undefined
  const hasFailed = others.some(({ outcome }) => outcome === 'failed')
  if (!hasFailed && others.length < repositories.length) return undefined
  return others.map(({ facts, reason }) => withName(fullNameOf(facts), reason!)).join('\n')
}

/** What the source says of a repository begins with its name, or its wiki's; what others say may not. */
export function withName(fullName: string, reason: string): string {
  return reason.startsWith(fullName) ? reason : `${fullName}: ${reason}`
}

const keysOf = (segments: readonly SegmentRecord[]): ReadonlySet<string> =>
  new Set(segments.map(({ key }) => key))

const ASKED_AT_ONCE = 16
/** What was taken into use so recently was there: to ask for each a second time would cost as much as to reuse it. */
const LENGTH_TRUSTED_MS = 60_000

/**
 * Those whose bytes the store does not have whole, or that are known to be damaged. Rows and bytes part where one of them was restored from a backup, and
 * an archive of what is gone could never be read.
 */
export async function lostSegments(
  blobs: BlobStore,
  segments: readonly CheckedSegment[],
  signal: AbortSignal,
): Promise<CheckedSegment[]> {
  const lost: CheckedSegment[] = []
  await mapConcurrent(segments, { lanes: ASKED_AT_ONCE, signal }, async (segment) => {
    const { key, length, damagedAt } = segment
    if (damagedAt !== null || (await storedLength(blobs, key)) !== length) lost.push(segment)
  })
  return lost
}
