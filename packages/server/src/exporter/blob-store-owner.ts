import { waitAtMost } from '@godwit/lib/timers'
import { UserError } from '@godwit/lib/user-error'
import { BlobExists, type BlobStore, BlobsUnavailable } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { signingKey } from '../db/secret-store.ts'
import { archiveKeysAmong, expiredArchives, removeArchive } from '../migrations/archive-store.ts'
import { deleteOldOutcomeCounts } from '../migrations/outcome-counts.ts'
import { countSegments, segmentsByKey } from '../migrations/segment-store.ts'
import { deleteUnusedSegment, unusedSegments } from '../migrations/segment-sweep.ts'
import { type Handler, RetryLater } from '../queue/queue.ts'
import { storedLength } from './read-digest.ts'

/** The store has blobs of another database. A sweep would remove them all, because this database has no rows for them. */
export class StoreOwnedByAnotherDatabase extends UserError {
  override name = 'StoreOwnedByAnotherDatabase'
  constructor(mark: string) {
    super(
      `the archives in --blobs (or in blobs/ of --data) belong to another database, so nothing is removed there: set another --blobs or --data. If that database is gone for good, delete ${mark} there`,
    )
  }
}

/** The database has stored segments, but the store lacks its owner mark: it is not mounted, another one, or lost. */
export class StoreNotOwned extends UserError {
  override name = 'StoreNotOwned'
  constructor() {
    super(
      'the store of archives is empty or another one: check --data, --blobs and its mount. If what was stored is lost for good, run `godwit check --store --lost`',
    )
  }
}

/** The prefix of the key of an owner mark: an empty blob that identifies the database of a store. No other key begins with it. */
const OWNER_PREFIX = 'owner-'

export const isOwnerMark = (key: string): boolean => key.startsWith(OWNER_PREFIX)

/**
 * Adds this database's owner mark to a store without one. Rejects with StoreOwnedByAnotherDatabase if it has another mark, and with
 * StoreNotOwned if this database has segments already, unless `isMissing` says that they are gone for good.
 */
export async function claimBlobStore(
  db: Db,
  blobs: BlobStore,
  { isLost = false } = {},
): Promise<void> {
  if (await isClaimed(db, blobs)) return
  const mark = await ownerKey(db)
  for await (const { key } of blobs.list()) {
    // Another process of this database may add it meanwhile.
    if (key === mark) return
    if (isOwnerMark(key)) throw new StoreOwnedByAnotherDatabase(key)
  }
  if (!isLost && (await hasSegments(db))) throw new StoreNotOwned()
  await blobs.put(mark, []).catch((error: unknown) => {
    // Another process of this database was faster.
    if (!(error instanceof BlobExists)) throw error
  })
}

const FIND_MARK_MS = 1000

/**
 * Returns a probe that rejects with StoreNotOwned as claimBlobStore does, but never writes to the store. It takes no notice of an outage
 * of the database, which has a probe of its own.
 */
export function storeOwnerProbe(db: Db, blobs: BlobStore): () => Promise<void> {
  let mark: string | undefined
  const findMark = async () => {
    mark = (await hasSegments(db)) ? await ownerKey(db) : undefined
  }
  return async () => {
    await waitAtMost(FIND_MARK_MS, findMark())
    if (mark !== undefined && (await storedLength(blobs, mark)) === undefined)
      throw new StoreNotOwned()
  }
}

const hasSegments = async (db: Db): Promise<boolean> => (await countSegments(db)).count > 0

/** Returns the key of this database's owner mark. */
export const ownerKey = async (db: Db): Promise<string> => ownerKeyOf(await signingKey(db, 'store'))

export const ownerKeyOf = (id: Buffer): string => OWNER_PREFIX + id.toString('hex')

/** Whether the store has this database's owner mark. The empty directory of a missing mount has none. */
export const isClaimed = async (db: Db, blobs: BlobStore): Promise<boolean> =>
  (await storedLength(blobs, await ownerKey(db))) !== undefined

const OWNER_CHECK_TTL_MS = 60_000
const OTHER_STORE_PAUSE_MS = 10_000

/**
 * Returns a function that postpones jobs while the blob store is not that of this database: its disk may not be mounted, and what
 * is written there would be missing later. All jobs share the result of a check.
 */
export function storeOwnerGuard(db: Db, blobs: BlobStore) {
  let check = Promise.resolve()
  let checkAt = 0
  const requireOwner = () => {
    if (performance.now() < checkAt) return check
    checkAt = Number.POSITIVE_INFINITY
    const checkIn = (ms: number) => {
      checkAt = performance.now() + ms
    }
    check = claimBlobStore(db, blobs)
    check.then(
      () => checkIn(OWNER_CHECK_TTL_MS),
      (error: unknown) => checkIn(isOfOtherStore(error) ? OTHER_STORE_PAUSE_MS : 0),
    )
    return check
  }
  return (run: Handler['run']): Handler['run'] =>
    async (job, attempt) => {
      await requireOwner().catch(throwPostponed)
      try {
        await run(job, attempt)
      } catch (error) {
        // The disk was unmounted since the last check.
        if (!isOfOtherStore(error)) throw error
        checkAt = 0
        throw postponed(error)
      }
    }
}

const isOfOtherStore = (error: unknown): error is Error =>
  error instanceof StoreNotOwned || error instanceof StoreOwnedByAnotherDatabase

/** An outage of the blob store, or another store in its place, delays jobs, but never makes them fail. Returns other errors unchanged. */
function postponed(error: unknown): unknown {
  if (isOfOtherStore(error))
    return new RetryLater(error.message, { cause: error, pauseMs: OTHER_STORE_PAUSE_MS })
  return error instanceof BlobsUnavailable ? new RetryLater(error.message, { cause: error }) : error
}

function throwPostponed(error: unknown): never {
  throw postponed(error)
}

/** Postpones a job during an outage of the blob store. */
export const retryDuringOutage =
  (run: Handler['run']): Handler['run'] =>
  (job, attempt) =>
    run(job, attempt).catch(throwPostponed)

interface SweepDependencies {
  db: Db
  blobs: BlobStore
  now: () => number
  segmentTtlMs: number
}

/** Removes expired archives, and old counts of outcomes. */
export async function sweepArchives(dependencies: SweepDependencies): Promise<void> {
  const { db, now } = dependencies
  for (const migrationId of await expiredArchives(db, now())) {
    await removeArchive(dependencies, migrationId)
  }
  await deleteOldOutcomeCounts(db, now())
}

/** Deletes the row first, then the bytes. Reads the segment lists of all archives, so it should not run every minute. */
export async function sweepSegments({
  db,
  blobs,
  now,
  segmentTtlMs,
}: SweepDependencies): Promise<void> {
  const since = now() - segmentTtlMs
  for (const segment of await unusedSegments(db, since)) {
    if (await deleteUnusedSegment(db, segment)) await blobs.delete(segment.key)
  }
}

/**
 * Removes blobs without a row: segments whose export crashed between writing the bytes and the row, and leftovers of interrupted
 * deletions. Keeps blobs that are younger than `olderThanMs`, which may still get a row. Rejects like claimBlobStore.
 */
export async function sweepOrphans(
  { db, blobs, now }: Pick<SweepDependencies, 'db' | 'blobs' | 'now'>,
  olderThanMs: number,
): Promise<void> {
  await claimBlobStore(db, blobs)
  await blobs.sweepUnfinished(olderThanMs)
  const before = olderThanMs > 0 ? now() - olderThanMs : Infinity
  let batch: string[] = []
  const removeOrphans = async () => {
    const segments = await segmentsByKey(db, batch)
    const archives = await archiveKeysAmong(db, batch)
    for (const key of batch) {
      if (!segments.has(key) && !archives.has(key)) await blobs.delete(key)
    }
    batch = []
  }
  for await (const { key, modifiedAt } of blobs.list()) {
    if (modifiedAt > before || isOwnerMark(key)) continue
    batch.push(key)
    if (batch.length === 500) await removeOrphans()
  }
  await removeOrphans()
}
