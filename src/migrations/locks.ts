import { setTimeout as sleep } from 'node:timers/promises'
import type { Viewer } from '../accounts/account.ts'
import { keyOf } from '../accounts/account.ts'
import type { Db } from '../db/database.ts'
import type { Queue } from '../queue/queue.ts'
import { keyOfName } from '../repositories/repository-store.ts'
import type { Source } from '../sources/source.ts'
import { SETTLE_LOCK } from './export-jobs.ts'
import { migrationToExport } from './export-store.ts'
import {
  forgetLocks,
  heldLocks,
  releasedLocks,
  releaseExpiredLocks,
  releaseLocks,
  repositoriesToSettle,
  wantedLock,
} from './lock-store.ts'
import { findMigration } from './migration-store.ts'
import { NotFound } from './refusals.ts'

export interface LockParts {
  db: Db
  queue: Queue
  source: Source | undefined
  now: () => number
}

/** How long a caller waits for a worker to do what cannot be done here; the worker does it all the same. */
const LONGEST_WAIT_MS = 10_000
const LOOK_EVERY_MS = 50

/**
 * Makes the source agree with the rows: locked while any migration holds the repository, open when the last has let go.
 * Where the source is not at hand, whoever has it is asked to, and waited for.
 */
export async function settleLock(parts: LockParts, repositoryId: number): Promise<void> {
  const { db, source } = parts
  if (!source) return askWorker(parts, repositoryId)
  // Which, not since when: the clock may be put back between the release and now, or be another machine's.
  const released = await releasedLocks(db, repositoryId)
  let { isHeld, ...name } = await wantedLock(db, repositoryId)
  for (;;) {
    const repository = await source.find(name.owner, name.name)
    if (repository) await (isHeld ? source.lock(repository) : source.unlock(repository))
    // Others may settle the same repository: whoever looks last after acting finds it as it should be.
    const { isHeld: isHeldNow } = await wantedLock(db, repositoryId)
    if (isHeldNow === isHeld) break
    isHeld = isHeldNow
  }
  await forgetLocks(db, repositoryId, released)
}

async function askWorker({ db, queue }: LockParts, repositoryId: number): Promise<void> {
  await db
    .transaction()
    .execute((tx) => queue.enqueue(tx, SETTLE_LOCK, [{ repositoryId }], `lock ${repositoryId}`))
  queue.wake()
  for (let waited = 0; waited < LONGEST_WAIT_MS; waited += LOOK_EVERY_MS) {
    if (!(await repositoriesToSettle(db)).includes(repositoryId)) return
    await sleep(LOOK_EVERY_MS)
  }
}

/** Until a worker has begun the migration, and so has locked what it locks; or for as long as anyone would wait. */
export async function untilBegun(db: Db, migrationId: number): Promise<void> {
  for (let waited = 0; waited < LONGEST_WAIT_MS; waited += LOOK_EVERY_MS) {
    if ((await migrationToExport(db, migrationId)).state !== 'pending') return
    await sleep(LOOK_EVERY_MS)
  }
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
  const troubles: unknown[] = []
  for (const repositoryId of await repositoriesToSettle(parts.db)) {
    // One that cannot be opened must not keep the others shut.
    await settleLock(parts, repositoryId).catch((error: unknown) => troubles.push(error))
  }
  if (troubles.length > 0) throw new AggregateError(troubles, 'not every lock could be opened')
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
