import { randomUUID } from 'node:crypto'
import { writeSegment } from '../archive/write-segment.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Db } from '../db/connect.ts'
import { insertArchive } from '../migrations/archive-store.ts'
import {
  type ExportedRepository,
  exportedRepositories,
  moveMigration,
  organizationsOf,
} from '../migrations/export-store.ts'
import type { Migration } from '../migrations/migration.ts'
import { insertMetadataSegment, segmentsByKey } from '../migrations/segment-store.ts'
import type { Addresses } from '../repositories/addresses.ts'
import { fullNameOf } from '../repositories/facts.ts'
import { metadataEntries } from './metadata-entries.ts'

export interface SealParts {
  db: Db
  blobs: BlobStore
  now: () => number
  addresses: Addresses
  archiveTtlMs: number
  /** What the manifest names as its maker. */
  generator: string
}

/** Written to the database with the end of the job, or not at all. */
export type Sealed = { record(tx: Db): Promise<void> } | { reason: string }

/**
 * All repositories have come to an end: either the migration failed, or the metadata is written and the archive is the
 * list of its segment and theirs.
 */
export async function sealArchive(
  parts: SealParts,
  migration: Migration,
  signal: AbortSignal,
): Promise<Sealed> {
  const { db, blobs, now, archiveTtlMs } = parts
  const repositories = await exportedRepositories(db, migration)
  const reason = failureOf(migration, repositories)
  if (reason) return { reason }

  const keys = repositories.flatMap(({ segmentKey }) => segmentKey ?? [])
  const entries = metadataEntries({
    migration,
    repositories,
    organizations: await organizationsOf(db, migration),
    segments: await segmentsByKey(db, keys),
    addresses: parts.addresses,
    generator: parts.generator,
    createdAt: now(),
  })
  const key = randomUUID()
  const metadata = await writeSegment(entries, (bytes) => blobs.put(key, bytes, { signal }))
  return {
    async record(tx) {
      await insertMetadataSegment(tx, { key, ...metadata }, now())
      await insertArchive(tx, migration, [key, ...keys])
      const archiveExpiresAt = now() + archiveTtlMs
      await moveMigration(tx, migration.id, 'exported', { now: now(), archiveExpiresAt })
    },
  }
}

function failureOf(migration: Migration, repositories: ExportedRepository[]): string | undefined {
  const omitted = repositories.filter(({ reason }) => reason !== null)
  if (omitted.length === 0) return undefined
  const nothingLeft = omitted.length === repositories.length
  if (migration.options.allowPartial && !nothingLeft) return undefined
  return omitted.map(({ facts, reason }) => `${fullNameOf(facts)}: ${reason}`).join('\n')
}
