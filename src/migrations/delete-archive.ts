import type { Scope } from '../accounts/scope.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { withTimeout } from '../lib/with-timeout.ts'
import { dropArchive } from './archive-store.ts'
import { NotFound } from './errors.ts'
import { findMigration } from './migration-store.ts'

export interface DeleteParts {
  db: Db
  blobs: BlobStore
  now: () => number
}

/** How long the answer waits for bytes that nothing leads to any more. */
const A_MOMENT_MS = 1000

/** The record stays in list and status; the archive is not there any more. */
export async function deleteArchive(
  parts: DeleteParts,
  scope: Scope,
  migrationId: number,
  onCommitted: () => void = () => {},
): Promise<void> {
  const migration = await findMigration(parts.db, scope, migrationId)
  const keys = migration && (await dropRows(parts, migration.id))
  if (!keys) throw new NotFound()
  onCommitted()
  // The archive is gone, whatever the store says: what it keeps is an orphan, and is swept.
  await withTimeout(A_MOMENT_MS, deleteBytes(parts, keys))
}

/** Row first, bytes last: bytes that are left over by a crash are swept. */
export async function removeArchive(parts: DeleteParts, migrationId: number): Promise<void> {
  await deleteBytes(parts, (await dropRows(parts, migrationId)) ?? [])
}

/** Undefined when there was no archive. */
const dropRows = ({ db, now }: DeleteParts, migrationId: number): Promise<string[] | undefined> =>
  db.transaction().execute((tx) => dropArchive(tx, migrationId, now()))

async function deleteBytes({ blobs }: DeleteParts, keys: readonly string[]): Promise<void> {
  for (const key of keys) await blobs.delete(key)
}
