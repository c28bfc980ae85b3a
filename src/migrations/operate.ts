import type { Db } from '../db/database.ts'
import { waitAtMost } from '../ground/wait-at-most.ts'
import type { RepositoryName } from '../sources/source.ts'
import { releaseLocksOn } from './lock-store.ts'
import { type LockParts, settleLock } from './locks.ts'
import type { Migration } from './migration.ts'
import { migrationOf } from './migration-store.ts'
import { NotFound } from './refusals.ts'

/** Whoever's it is: for the operator alone. */
export async function anyMigration(db: Db, id: number | undefined): Promise<Migration> {
  const row =
    id === undefined
      ? undefined
      : await db.selectFrom('migrations').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) throw new NotFound()
  return migrationOf(row)
}

const LONGEST_WAIT_MS = 10_000

/** Whichever migrations hold it. What takes longer, or fails, is housekeeping's to finish. */
export async function releaseAnyLock(
  parts: LockParts,
  repository: RepositoryName,
  onCommitted: () => void,
): Promise<void> {
  const released = await releaseLocksOn(parts.db, repository, parts.now())
  if (!released || released.locks === 0) throw new NotFound()
  onCommitted()
  await waitAtMost(LONGEST_WAIT_MS, settleLock(parts, released.repositoryId))
}
