import type { Db } from '../../db/database.ts'
import { LeaseTaken, releaseLease, renewLease } from '../../db/lease-store.ts'
import { keepBatch, keptDiscussions, leaseReading } from '../../repositories/discussion-store.ts'
import { type Discussions, type Reading, readingOf } from '../../sources/discussions.ts'
import type { RepositoryName } from '../../sources/source.ts'

export interface ReadingParts {
  db: Db
  now: () => number
  /** Where the discussions are; without a slash at the end. */
  forge: { url: string; discussions: Discussions }
}

export type KeptDiscussions = Awaited<ReturnType<typeof keptDiscussions>>

export interface ReadOrder {
  repository: RepositoryName
  /** The same one may begin again at once after a crash; any other waits. */
  reader: string
  onProgress(progress: { read: number; total: number }): Promise<void>
}

/** Complete, and as new as `asOf`. */
export interface CurrentReading extends Pick<Reading, 'stamp' | 'notes' | 'asOf'> {
  kept: KeptDiscussions
  /** Throws LeaseTaken where another has taken it meanwhile: what was made of it then is not to be recorded. */
  hold(): Promise<void>
}

const HELD_EVERY_MS = 30_000

/**
 * Brings what is kept of a repository's discussions up to date, batch by batch, and hands it to `use` while nobody else can
 * change it. Throws LeaseTaken where another reads it, or has begun to: the signal that `use` is given then stops the work.
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
    // A database that is away says nothing of whose it is: a batch that comes too late is refused.
    hold().catch((error: unknown) => error instanceof LeaseTaken && lost.abort(error))
  }, HELD_EVERY_MS)
  try {
    const kept = await keptDiscussions(db, url, repository)
    const stamp = await discussions.stamp(repository, kept, underWay)
    const known = readingOf(kept.cursor)
    // As new as when it was read: a look does not see all that may change.
    if (known?.isComplete && known.stamp === stamp)
      return await use({ kept, stamp, notes: known.notes, asOf: known.asOf, hold }, underWay)
    for await (const batch of discussions.read(repository, kept, underWay)) {
      await keepBatch(db, url, repository, batch, now(), lease)
      await order.onProgress(batch.progress)
    }
    const current = await keptDiscussions(db, url, repository)
    const reading = readingOf(current.cursor)
    if (!reading?.isComplete) throw new Error('a reading of discussions ended without its end')
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
