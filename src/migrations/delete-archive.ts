import type { Viewer } from '../accounts/account.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { dropArchive } from './archive-store.ts'
import { findMigration } from './migration-store.ts'
import { NotFound } from './refusals.ts'

export interface DeleteParts {
  db: Db
  blobs: BlobStore
  now: () => number
}

/** The record stays in list and status; the archive is not there any more. */
export async function deleteArchive(
  parts: DeleteParts,
  viewer: Viewer,
  migrationId: number,
): Promise<void> {
  const migration = await findMigration(parts.db, viewer, migrationId)
  if (!migration || !(await removeArchive(parts, migration.id))) throw new NotFound()
}

/** Row first, bytes last: bytes that are left over by a crash are swept. False when there was no archive. */
export async function removeArchive(
  { db, blobs, now }: DeleteParts,
  migrationId: number,
): Promise<boolean> {
  const keys = await db.transaction().execute((tx) => dropArchive(tx, migrationId, now()))
  for (const key of keys ?? []) await blobs.delete(key)
  return keys !== undefined
}
