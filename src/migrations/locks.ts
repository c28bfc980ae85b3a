import { setTimeout as sleep } from 'node:timers/promises'
import { keyOf } from '../accounts/account.ts'
import type { Scope } from '../accounts/scope.ts'
import type { Db } from '../db/database.ts'
import { mapConcurrent } from '../lib/map-concurrent.ts'
import { isName } from '../lib/names.ts'
import { withTimeout } from '../lib/with-timeout.ts'
import type { Queue } from '../queue/queue.ts'
import { fullNameOf, type RepositoryFacts } from '../repositories/facts.ts'
import { keyOfName } from '../repositories/repository-store.ts'
import type { RepositoryName, Source } from '../sources/source.ts'
import { Busy, Gone, Unreadable } from '../sources/unreadable.ts'
import { type Fault, InvalidRequest, NotFound } from './errors.ts'
import { migrationToExport } from './export-store.ts'
import {
  deleteLocks,
  heldLocks,
  isLockHeld,
  isLockHeldOn,
  releasedLocks,
  releaseExpiredLocks,
  releaseLocks,
  releaseLocksOn,
  repositoriesToSettle,
  repositoryOfLock,
} from './lock-store.ts'
import { SETTLE_LOCK } from './migration.ts'
import { findMigration } from './migration-store.ts'

export interface LockParts {
  db: Db
  queue: Queue
  source: Source | undefined
  now: () => number
}

type SourceParts = Pick<LockParts, 'db' | 'now'> & { source: Source }

/** How long a caller waits for what is written down already, and will be done whether or not anyone waits. */
const LONGEST_WAIT_MS = 10_000
const A_MOMENT_MS = 1000
const LOOK_EVERY_MS = 50
/** Git is waited for, not computed by us. */
const SETTLED_AT_ONCE = 4

/**
 * Makes the source agree with the rows: locked while any migration holds the repository, open when the last has let go.
 * Where the source is not at hand, whoever has it is asked to, and waited for.
 */
export async function settleLock(parts: LockParts, repositoryId: number): Promise<void> {
  const { source } = parts
  if (source) await settleHere({ ...parts, source }, repositoryId)
  else await askWorker(parts, repositoryId)
}

/**
 * A lock is forgotten only after it was seen to be gone. Of a repository that is away it stays written down, and this is
 * false.
 */
async function settleHere({ db, source }: SourceParts, repositoryId: number): Promise<boolean> {
  // Which, not since when: the clock may be put back between the release and now, or be another machine's.
  const released = await releasedLocks(db, repositoryId)
  const repository = await repositoryOfLock(db, repositoryId)
  try {
    if (!(await settleAnyCase(source, repository, () => isLockHeld(db, repositoryId)))) {
      await settleWikiAlone(db, source, repository)
      return false
    }
  } catch (error) {
    throw named(`${repository.owner}/${repository.name}`, error)
  }
  await deleteLocks(db, repositoryId, released)
  return true
}

/** However its name is spelled on the disk. False where it is not there. */
async function settleAnyCase(
  source: Source,
  repository: RepositoryName,
  isWanted: () => Promise<boolean>,
): Promise<boolean> {
  // Before `find` is asked: what is no longer served may be locked all the same, and so may what a forge that is away knows of.
  if (await settleIfThere(source, repository, isWanted)) return true
  const found = await source.find(repository.owner, repository.name)
  return found !== undefined && settleIfThere(source, found, isWanted)
}

async function settleIfThere(
  source: Source,
  repository: RepositoryName,
  isWanted: () => Promise<boolean>,
): Promise<boolean> {
  try {
    await source.settleLock(repository, isWanted)
    return true
  } catch (error) {
    if (error instanceof Gone) return false
    throw error
  }
}

/** A wiki that has outlived its repository is a repository of its own, and may be locked as one; else nothing holds its lock. */
async function settleWikiAlone(
  db: Db,
  source: Source,
  { owner, name }: RepositoryName,
): Promise<void> {
  const wiki = { owner, name: `${name}.wiki` }
  if (!isName(wiki.name)) return
  await settleIfThere(source, wiki, () => isLockHeldOn(db, wiki))
}

/** The same kind of failure, which says of what repository it is. */
function named(fullName: string, error: unknown): Error {
  const message = `${fullName}: ${error instanceof Error ? error.message : error}`
  if (error instanceof Busy) return new Busy(message, { cause: error })
  if (error instanceof Unreadable) return new Unreadable(message, { cause: error })
  return new Error(message, { cause: error })
}

async function askWorker({ db, queue }: LockParts, repositoryId: number): Promise<void> {
  await db
    .transaction()
    .execute((tx) => queue.enqueue(tx, SETTLE_LOCK, [{ repositoryId }], `lock ${repositoryId}`))
  queue.wake('jobs')
  for (let waited = 0; waited < LONGEST_WAIT_MS; waited += LOOK_EVERY_MS) {
    if (!(await repositoriesToSettle(db)).includes(repositoryId)) return
    await sleep(LOOK_EVERY_MS)
  }
}

/** Before anything is written down: a lock that could not hold is refused by name. Elsewhere the export finds out. */
export async function refuseUnlockable(
  { source, signal }: { source: Source | undefined; signal?: AbortSignal | undefined },
  repositories: readonly RepositoryFacts[],
): Promise<void> {
  if (!source) return
  const faults: Fault[] = []
  const lanes = { lanes: SETTLED_AT_ONCE, signal }
  await mapConcurrent(repositories.entries(), lanes, async ([index, facts]) => {
    await source.checkLock({ owner: facts.owner.login, name: facts.name }).catch((error) => {
      if (!(error instanceof Unreadable)) throw error
      const message = `${fullNameOf(facts)} cannot be locked: ${error.message}`
      faults.push({ field: 'repositories', code: 'unprocessable', index, message })
    })
  })
  if (faults.length > 0) throw new InvalidRequest(faults.toSorted((a, b) => a.index! - b.index!))
}

/**
 * Applies what a migration has locked, after its start was written down; waits until a worker has, where the source is not
 * at hand. The export locks before it reads, and fails where it cannot: here it is only made sooner.
 */
export async function lockEarly(parts: LockParts, migrationId: number): Promise<void> {
  const locking = parts.source
    ? settleLocksOf(parts, migrationId)
    : untilBegun(parts.db, migrationId)
  await withTimeout(LONGEST_WAIT_MS, locking)
}

async function untilBegun(db: Db, migrationId: number): Promise<void> {
  for (let waited = 0; waited < LONGEST_WAIT_MS; waited += LOOK_EVERY_MS) {
    if ((await migrationToExport(db, migrationId)).state !== 'pending') return
    await sleep(LOOK_EVERY_MS)
  }
}

/** Applies what a migration has locked; called before anything of it is read. */
export async function settleLocksOf(parts: LockParts, migrationId: number): Promise<void> {
  const held = await heldLocks(parts.db, migrationId)
  await settleLocks(
    parts,
    held.map(({ repositoryId }) => repositoryId),
  )
}

/** After a release that is written down; whatever takes longer, or fails, is housekeeping's to finish. */
export function settleLocksBriefly(parts: LockParts, repositoryIds: readonly number[]) {
  return withTimeout(A_MOMENT_MS, settleLocks(parts, repositoryIds))
}

/** Ends locks whose time is over, and finishes whatever release was interrupted. */
export async function settleReleasedLocks(parts: SourceParts): Promise<void> {
  await releaseExpiredLocks(parts.db, parts.now())
  await settleEach(await repositoriesToSettle(parts.db), (id) => settleHere(parts, id))
}

/** All of them, whichever of them fails. */
export function settleLocks(parts: LockParts, repositoryIds: readonly number[]): Promise<void> {
  return settleEach(repositoryIds, (id) => settleLock(parts, id))
}

async function settleEach(
  repositoryIds: readonly number[],
  settle: (repositoryId: number) => Promise<unknown>,
): Promise<void> {
  const errors: Error[] = []
  await mapConcurrent(repositoryIds, { lanes: SETTLED_AT_ONCE }, async (id) => {
    // One that cannot be opened must not keep the others shut.
    await settle(id).catch((error: Error) => errors.push(error))
  })
  if (errors.length === 0) return
  const why = errors.map(({ message }) => message).join('; ')
  const areAll = (kind: typeof Unreadable) => errors.every((error) => error instanceof kind)
  if (areAll(Busy)) throw new Busy(why)
  if (areAll(Unreadable)) throw new Unreadable(why)
  throw new AggregateError(errors, `locks could not be updated: ${why}`)
}

/**
 * For an operator: whoever holds it, and also where nobody does. False where the repository is not there: its locks are then
 * let go of, but stay written down until it is seen again, unless they are to be forgotten.
 */
export async function releaseRepository(
  parts: SourceParts,
  repository: RepositoryName,
  { forget = false } = {},
): Promise<boolean> {
  const { db, source, now } = parts
  const id = (await releaseLocksOn(db, repository, now()))?.repositoryId
  if (id === undefined) return settleAnyCase(source, repository, async () => false)
  const released = await releasedLocks(db, id)
  const isThere = await settleHere(parts, id)
  if (!isThere && forget) await deleteLocks(db, id, released)
  return isThere
}

/**
 * `repoName` is a name, or owner and name. A repository that this migration does not hold is not there to unlock. Of several with
 * the name alone, it is that of the migration's owner.
 */
export async function unlockRepository(
  parts: LockParts,
  scope: Scope,
  migrationId: number,
  repoName: string,
  onCommitted: () => void = () => {},
): Promise<void> {
  if (!(await findMigration(parts.db, scope, migrationId))) throw new NotFound()
  const wanted = keyOf(repoName)
  const held = await heldLocks(parts.db, migrationId)
  const named = held.filter(({ name }) => keyOf(name) === wanted)
  const own = keyOfName({ owner: scope.owner.login, name: repoName })
  const lock =
    held.find((each) => keyOfName(each) === (wanted.includes('/') ? wanted : own)) ??
    (named.length === 1 ? named[0] : undefined)
  if (!lock) throw new NotFound()
  const released = await releaseLocks(parts.db, migrationId, parts.now(), lock.repositoryId)
  if (released.length === 0) throw new NotFound()
  onCommitted()
  await withTimeout(LONGEST_WAIT_MS, settleLock(parts, lock.repositoryId))
}

/** Whichever migrations hold it. What takes longer, or fails, is housekeeping's to finish. */
export async function releaseAnyLock(
  parts: LockParts,
  repository: RepositoryName,
  onCommitted: () => void,
): Promise<void> {
  const released = await releaseLocksOn(parts.db, repository, parts.now())
  if (!released || released.locks === 0) throw new NotFound()
  onCommitted()
  await withTimeout(LONGEST_WAIT_MS, settleLock(parts, released.repositoryId))
}
