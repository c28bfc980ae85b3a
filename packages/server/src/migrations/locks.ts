import { setTimeout as sleep } from 'node:timers/promises'
import { RepositoryBusy, RepositoryNotFound, Unreadable } from '@godwit/git/unreadable'
import type { RepositoryName, Source } from '@godwit/hosts/source'
import { isName } from '@godwit/lib/names'
import { type FieldError, InvalidRequest, NotFound } from '@godwit/lib/request-errors'
import { waitAtMost } from '@godwit/lib/timers'
import { mapConcurrent } from '@godwit/lib/turns'
import { nameKey, type Scope } from '../accounts/account.ts'
import type { AlsoWrite, Db } from '../db/database.ts'
import type { Queue } from '../queue/queue.ts'
import { fullNameOf, type RepositoryMetadata } from '../repositories/repository-metadata.ts'
import { findCurrentNames, keyOfName } from '../repositories/repository-store.ts'
import { migrationById } from './export-store.ts'
import * as lockStore from './lock-store.ts'
import { RECONCILE_LOCK } from './migration.ts'
import { findMigration } from './migration-store.ts'
import { fullNamesOf } from './repository-list-store.ts'

export interface LockDependencies {
  db: Db
  queue: Queue
  source: Source | undefined
  now: () => number
}

type SourceDependencies = Pick<LockDependencies, 'db' | 'now'> & { source: Source }

/** How long a caller waits for a lock change that is recorded and will be applied in any case. */
const MAX_WAIT_MS = 10_000
const POLL_INTERVAL_MS = 50
/** The work is done by git, not by this process. */
const CONCURRENT_LOCKS = 4

/**
 * Makes the source agree with the database: locked while any migration holds a lock on the repository, unlocked otherwise. Without
 * a source, enqueues a job for a worker and waits for it.
 */
export async function reconcileLock(
  dependencies: LockDependencies,
  repositoryId: number,
): Promise<void> {
  const { source } = dependencies
  if (source) await reconcileHere({ ...dependencies, source }, repositoryId)
  else await reconcileByWorker(dependencies, repositoryId)
}

/**
 * Updates the source and then deletes the released locks. Returns false if the repository is missing at the source: its locks stay
 * recorded.
 */
async function reconcileHere(
  { db, source }: SourceDependencies,
  repositoryId: number,
): Promise<boolean> {
  // The locks to delete are identified by migration, not by time, because clocks may differ or be set back.
  const released = await lockStore.releasedLocks(db, repositoryId)
  const { owner, name } = (await findCurrentNames(db, [repositoryId])).get(repositoryId)!
  const repository = { owner, name }
  try {
    if (
      !(await reconcileAnyCase(source, repository, () => lockStore.isLockHeld(db, repositoryId)))
    ) {
      await reconcileWikiAlone(db, source, repository)
      return false
    }
  } catch (error) {
    throw namedError(`${owner}/${name}`, error)
  }
  await lockStore.deleteLocks(db, repositoryId, released)
  return true
}

/** Finds the repository in any spelling of its name. Returns false if it is missing. */
async function reconcileAnyCase(
  source: Source,
  repository: RepositoryName,
  isWanted: () => Promise<boolean>,
): Promise<boolean> {
  // Before `find`, which does not return a repository that is no longer served, and fails while the forge is unavailable.
  if (await reconcileIfExists(source, repository, isWanted)) return true
  const found = await source.find(repository.owner, repository.name)
  return found !== undefined && reconcileIfExists(source, found, isWanted)
}

async function reconcileIfExists(
  source: Source,
  repository: RepositoryName,
  isWanted: () => Promise<boolean>,
): Promise<boolean> {
  try {
    await source.reconcileLock(repository, isWanted)
    return true
  } catch (error) {
    if (error instanceof RepositoryNotFound) return false
    throw error
  }
}

/** A wiki without its repository is a repository of its own: it is locked only if a migration holds a lock on it by that name. */
async function reconcileWikiAlone(db: Db, source: Source, { owner, name }: RepositoryName) {
  const wiki = { owner, name: `${name}.wiki` }
  if (!isName(wiki.name)) return
  await reconcileIfExists(source, wiki, () => lockStore.isLockHeldOn(db, wiki))
}

/** Returns an error of the same kind whose message begins with the name of the repository. */
function namedError(fullName: string, error: unknown): Error {
  const message = `${fullName}: ${error instanceof Error ? error.message : error}`
  if (error instanceof RepositoryBusy) return new RepositoryBusy(message, { cause: error })
  if (error instanceof Unreadable) return new Unreadable(message, { cause: error })
  return new Error(message, { cause: error })
}

async function reconcileByWorker(
  { db, queue }: LockDependencies,
  repositoryId: number,
): Promise<void> {
  await db
    .transaction()
    .execute((tx) => queue.enqueue(tx, RECONCILE_LOCK, [{ repositoryId }], `lock ${repositoryId}`))
  queue.wake('jobs')
  await pollUntil(async () => !(await lockStore.repositoriesToReconcile(db)).includes(repositoryId))
}

async function pollUntil(isDone: () => Promise<boolean>): Promise<void> {
  for (let waited = 0; waited < MAX_WAIT_MS; waited += POLL_INTERVAL_MS) {
    if (await isDone()) return
    await sleep(POLL_INTERVAL_MS)
  }
}

/** Throws InvalidRequest for repositories that cannot be locked. Without a source, such a repository fails when it is exported. */
export async function requireLockable(
  { source, signal }: { source: Source | undefined; signal?: AbortSignal | undefined },
  repositories: readonly RepositoryMetadata[],
): Promise<void> {
  if (!source) return
  const errors: FieldError[] = []
  const options = { concurrency: CONCURRENT_LOCKS, signal }
  await mapConcurrent(repositories.entries(), options, async ([index, metadata]) => {
    await source.checkLock({ owner: metadata.owner.login, name: metadata.name }).catch((error) => {
      if (!(error instanceof Unreadable)) throw error
      const message = `${fullNameOf(metadata)} cannot be locked: ${error.message}`
      errors.push({ field: 'repositories', code: 'unprocessable', index, message })
    })
  })
  if (errors.length > 0) throw new InvalidRequest(errors.toSorted((a, b) => a.index! - b.index!))
}

/**
 * Applies the locks of a migration that was just started; without a source, waits until a worker has. A failure is ignored, because
 * the export applies the locks again before it reads anything.
 */
export async function lockEarly(
  dependencies: LockDependencies,
  migrationId: number,
): Promise<void> {
  const hasBegun = async () =>
    (await migrationById(dependencies.db, migrationId)).state !== 'pending'
  const locking = dependencies.source
    ? reconcileLocksOf(dependencies, migrationId)
    : pollUntil(hasBegun)
  await waitAtMost(MAX_WAIT_MS, locking)
}

/** Applies the locks of a migration. Called before any of its repositories is read. */
export async function reconcileLocksOf(
  dependencies: LockDependencies,
  migrationId: number,
): Promise<void> {
  const held = await lockStore.heldLocks(dependencies.db, migrationId)
  await reconcileLocks(
    dependencies,
    held.map(({ repositoryId }) => repositoryId),
  )
}

/** Releases expired locks, and finishes releases that were interrupted. */
export async function reconcileReleasedLocks(dependencies: SourceDependencies): Promise<void> {
  await lockStore.releaseExpiredLocks(dependencies.db, dependencies.now())
  await reconcileEach(await lockStore.repositoriesToReconcile(dependencies.db), (id) =>
    reconcileHere(dependencies, id),
  )
}

/** Reconciles all locks, even if some fail. */
export function reconcileLocks(
  dependencies: LockDependencies,
  repositoryIds: readonly number[],
): Promise<void> {
  return reconcileEach(repositoryIds, (id) => reconcileLock(dependencies, id))
}

async function reconcileEach(
  repositoryIds: readonly number[],
  reconcile: (repositoryId: number) => Promise<unknown>,
): Promise<void> {
  const errors: Error[] = []
  await mapConcurrent(repositoryIds, { concurrency: CONCURRENT_LOCKS }, async (id) => {
    // A repository that cannot be unlocked must not keep the others locked.
    await reconcile(id).catch((error: Error) => errors.push(error))
  })
  if (errors.length === 0) return
  const why = errors.map(({ message }) => message).join('; ')
  const allAre = (kind: typeof Unreadable) => errors.every((error) => error instanceof kind)
  if (allAre(RepositoryBusy)) throw new RepositoryBusy(why)
  if (allAre(Unreadable)) throw new Unreadable(why)
  throw new AggregateError(errors, `locks could not be updated: ${why}`)
}

/**
 * Releases all locks on a repository for an operator, also a lock that no migration holds. Returns false if the repository is
 * missing at the source: its released locks then stay recorded until it exists again, unless `forget` is set. Throws NotFound if the
 * name is unknown.
 */
export async function removeLocks(
  dependencies: SourceDependencies,
  repository: RepositoryName,
  { forget = false, alsoWrite }: { forget?: boolean; alsoWrite?: AlsoWrite } = {},
): Promise<boolean> {
  const { db, source, now } = dependencies
  const id = await db.transaction().execute(async (tx) => {
    const known = await lockStore.releaseLocksOn(tx, repository, now())
    if (known) await alsoWrite?.(tx)
    return known?.repositoryId
  })
  if (id === undefined) {
    if (!(await reconcileAnyCase(source, repository, async () => false))) throw new NotFound()
    if (alsoWrite) await db.transaction().execute(alsoWrite)
    return true
  }
  const released = await lockStore.releasedLocks(db, id)
  const exists = await reconcileHere(dependencies, id)
  if (!exists && forget) await lockStore.deleteLocks(db, id, released)
  return exists
}

/**
 * `repoName` is `name` or `owner/name`. If several repositories of the migration have the name, it is the one of the migration's owner,
 * even if that is unlocked already: a repeated request must not unlock another one. Throws NotFound if the migration holds no lock on it.
 */
export async function unlockRepository(
  dependencies: LockDependencies,
  scope: Scope,
  migrationId: number,
  repoName: string,
  alsoWrite?: AlsoWrite,
): Promise<void> {
  const migration = await findMigration(dependencies.db, scope, migrationId)
  if (!migration) throw new NotFound()
  const held = await lockStore.heldLocks(dependencies.db, migrationId)
  const find = (key: string | undefined) => held.find((each) => keyOfName(each) === key)
  const key = nameKey(repoName)
  const onlyKey = async () => {
    const names = (await fullNamesOf(dependencies.db, migration)).map(nameKey)
    const keys = new Set([...held.map(keyOfName), ...names].filter((n) => n.endsWith(`/${key}`)))
    return keys.size === 1 ? [...keys][0] : undefined
  }
  // The names are read only if they are needed, because there may be thousands.
  const own = find(key.includes('/') ? key : nameKey(`${scope.owner.login}/${repoName}`))
  const lock = own ?? find(await onlyKey())
  if (!lock) throw new NotFound()
  await dependencies.db.transaction().execute(async (tx) => {
    const released = await lockStore.releaseLocks(
      tx,
      migrationId,
      dependencies.now(),
      lock.repositoryId,
    )
    if (released.length === 0) throw new NotFound()
    await alsoWrite?.(tx)
  })
  await waitAtMost(MAX_WAIT_MS, reconcileLock(dependencies, lock.repositoryId))
}

/** Releases all locks on a repository. If applying that fails or takes longer than MAX_WAIT_MS, housekeeping finishes it. */
export async function releaseAnyLock(
  dependencies: LockDependencies,
  repository: RepositoryName,
  alsoWrite: AlsoWrite,
): Promise<void> {
  const { repositoryId } = await dependencies.db.transaction().execute(async (tx) => {
    const released = await lockStore.releaseLocksOn(tx, repository, dependencies.now())
    if (!released || released.locks === 0) throw new NotFound()
    await alsoWrite(tx)
    return released
  })
  await waitAtMost(MAX_WAIT_MS, reconcileLock(dependencies, repositoryId))
}
