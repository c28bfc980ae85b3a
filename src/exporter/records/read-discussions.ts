import type { Db } from '../../db/database.ts'
import { releaseLease, renewLease, whileRenewing } from '../../db/lease-store.ts'
import { leaseReading, storeBatch, storedDiscussions } from '../../repositories/discussion-store.ts'
import { type Discussions, type ReadState, readStateOf } from '../../sources/discussions.ts'
import type { RepositoryName } from '../../sources/source.ts'

export interface ReadingParts {
  db: Db
  now: () => number
  /** `url` has no trailing slash. */
  forge: { url: string; discussions: Discussions }
}

export interface ReadOptions {
  repository: RepositoryName
  /** The holder of the lease. After a crash, a reader with the same name may start again at once. Others must wait. */
  reader: string
  onProgress(progress: { read: number; total: number }): Promise<void>
}

/** A complete read. All of it is at least as new as `asOf`. */
export interface CurrentReading extends Pick<ReadState, 'stamp' | 'notes' | 'asOf'> {
  stored: Awaited<ReturnType<typeof storedDiscussions>>
  /** Renews the lease. Throws LeaseTaken if another reader has taken over. Then nothing may be recorded. */
  renew(): Promise<void>
}

/**
 * Updates the stored discussions of a repository batch by batch, and passes them to `use` while no other reader can change
 * them. Throws LeaseTaken if another reader has the lease or takes over. The latter also aborts the signal that `use` gets.
 */
export async function withDiscussions<T>(
  { db, now, forge }: ReadingParts,
  { repository, reader, onProgress }: ReadOptions,
  signal: AbortSignal,
  use: (reading: CurrentReading, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { url, discussions } = forge
  const lease = await leaseReading(db, url, repository, { reader, now: now() })
  const renew = () => renewLease(db, lease, now())
  const reading = whileRenewing({ db, lease, now, signal }, async (signal) => {
    let stored = await storedDiscussions(db, url, repository)
    const changes = await discussions.findChanges(repository, stored, signal)
    let state = readStateOf(stored.cursor)
    // If the stamp is unchanged, `asOf` stays that of the last read: the stamp does not cover everything that may change.
    if (!state?.isComplete || state.stamp !== changes.stamp) {
      for await (const batch of changes.batches()) {
        await storeBatch(db, url, repository, batch, now(), lease)
        await onProgress(batch.progress)
      }
      stored = await storedDiscussions(db, url, repository)
      state = readStateOf(stored.cursor)
      if (!state?.isComplete) throw new Error('the discussions were not read completely')
    }
    const { stamp, notes, asOf } = state
    return use({ stored, stamp, notes, asOf, renew }, signal)
  })
  return reading.finally(() => releaseLease(db, lease).catch(() => {}))
}
