import type { Viewer } from '../accounts/account.ts'
import { keyOf } from '../accounts/account.ts'
import type { Db } from '../db/connect.ts'
import { keyOfName } from '../repositories/repository-store.ts'
import type { Source } from '../sources/source.ts'
import {
  forgetReleasedLocks,
  heldLocks,
  lockToSettle,
  releaseExpiredLocks,
  releaseLocks,
  repositoriesToSettle,
} from './lock-store.ts'
import { findMigration } from './migration-store.ts'
import { NotFound } from './refusals.ts'

export interface LockParts {
  db: Db
  source: Source | undefined
  now: () => number
}

/**
 * Makes the source agree with the rows: locked while any migration holds the repository, open when the last has let go.
 * Does nothing where the source is not at hand; whoever has it settles the same rows.
 */
async function settleLock({ db, source }: LockParts, repositoryId: number): Promise<void> {
  if (!source) return
  await db.transaction().execute(async (tx) => {
    const { owner, name, isHeld } = await lockToSettle(tx, repositoryId)
    const repository = await source.find(owner, name)
    if (repository) await (isHeld ? source.lock(repository) : source.unlock(repository))
    await forgetReleasedLocks(tx, repositoryId)
  })
}

/** Applies what a migration has locked; called before anything of it is read. */
export async function settleLocksOf(parts: LockParts, migrationId: number): Promise<void> {
  for (const { repositoryId } of await heldLocks(parts.db, migrationId)) {
    await settleLock(parts, repositoryId)
  }
}

/** Ends locks whose time is over, and finishes whatever release was interrupted. */
export async function settleReleasedLocks(parts: LockParts): Promise<void> {
  await releaseExpiredLocks(parts.db, parts.now())
  for (const repositoryId of await repositoriesToSettle(parts.db)) {
    await settleLock(parts, repositoryId)
  }
}

/** `repoName` is a name, or owner and name. A repository that this migration does not hold is not there to unlock. */
export async function unlockRepository(
  parts: LockParts,
  viewer: Viewer,
  migrationId: number,
  repoName: string,
): Promise<void> {
  if (!(await findMigration(parts.db, viewer, migrationId))) throw new NotFound()
  const wanted = keyOf(repoName)
  const lock = (await heldLocks(parts.db, migrationId)).find((held) =>
    wanted.includes('/') ? keyOfName(held) === wanted : keyOf(held.name) === wanted,
  )
  if (!lock) throw new NotFound()
  const released = await releaseLocks(parts.db, migrationId, parts.now(), lock.repositoryId)
  if (released.length === 0) throw new NotFound()
  await settleLock(parts, lock.repositoryId)
}
