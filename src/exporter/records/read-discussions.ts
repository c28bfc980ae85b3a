import type { Db } from '../../db/database.ts'
import { LeaseTaken, releaseLease, renewLease } from '../../db/lease-store.ts'
import { leaseReading, storeBatch, storedDiscussions } from '../../repositories/discussion-store.ts'
import { type Discussions, type ReadState, readStateOf } from '../../sources/discussions.ts'
import type { RepositoryName } from '../../sources/source.ts'

export interface ReadingParts {
  db: Db
  now: () => number
  /** `url` has no trailing slash. */
  forge: { url: string; discussions: Discussions }
}

export type KeptDiscussions = Awaited<ReturnType<typeof storedDiscussions>>

export interface ReadOrder {
  repository: RepositoryName
  /** After a crash, a reader with the same name may start again at once. Others must wait. */
  reader: string
  onProgress(progress: { read: number; total: number }): Promise<void>
}

/** A complete reading. All of it is at least as new as `asOf`. */
export interface CurrentReading extends Pick<ReadState, 'stamp' | 'notes' | 'asOf'> {
  kept: KeptDiscussions
  /** Throws LeaseTaken if another reader has taken over. Then nothing may be recorded. */
  hold(): Promise<void>
}

const HOLD_INTERVAL_MS = 30_000

/**
 * Updates the stored discussions of a repository batch by batch, and passes them to `use` while no other reader can change
 * them. Throws LeaseTaken if another reader has them or takes over, which also aborts the signal that `use` gets.
 */
export async function withDiscussions<T>(
  { db, now, forge }: ReadingParts,
  order: ReadOrder,
  signal: AbortSignal,
  use: (reading: CurrentReading, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { repository, reader } = order
  const { url, discussions } = forge
  const lease = await leaseReading(db, url, repository, { reader, now: now() })
  const hold = () => renewLease(db, lease, now())
  const lost = new AbortController()
  const underWay = AbortSignal.any([signal, lost.signal])
  const holding = setInterval(() => {
    // Other errors are ignored: if another reader took over during an outage, the next batch is refused.
    hold().catch((error: unknown) => error instanceof LeaseTaken && lost.abort(error))
  }, HOLD_INTERVAL_MS)
  try {
    const kept = await storedDiscussions(db, url, repository)
    const stamp = await discussions.stamp(repository, kept, underWay)
    const known = readStateOf(kept.cursor)
    // Still `asOf` the last reading: the stamp does not cover everything that may change.
    if (known?.isComplete && known.stamp === stamp)
      return await use({ kept, stamp, notes: known.notes, asOf: known.asOf, hold }, underWay)
    for await (const batch of discussions.read(repository, kept, underWay)) {
      await storeBatch(db, url, repository, batch, now(), lease)
      await order.onProgress(batch.progress)
    }
    const current = await storedDiscussions(db, url, repository)
    const reading = readStateOf(current.cursor)
    if (!reading?.isComplete) throw new Error('the reading of discussions is incomplete')
    const { notes, asOf } = reading
    return await use({ kept: current, stamp: reading.stamp, notes, asOf, hold }, underWay)
  } catch (error) {
    lost.signal.throwIfAborted()
    throw error
  } finally {
    clearInterval(holding)
    await releaseLease(db, lease).catch(() => {})
  }
}
