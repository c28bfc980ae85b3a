import type { Db } from '../db/connect.ts'
import type { ExportedRepository } from '../migrations/export-store.ts'
import type { Carried } from '../migrations/outcome-store.ts'
import { exportedBefore, findSegment } from '../migrations/segment-store.ts'
import type { SegmentMaker } from './segment-maker.ts'

export interface LookParts {
  db: Db
  segments: SegmentMaker
  now: () => number
}

const LOOKED_AT_ONCE = 8

/**
 * Those that have a segment already, by their position. Found together, they end together: a transaction each would cost
 * more than the look.
 */
export async function findUnchanged(
  { db, segments, now }: LookParts,
  repositories: readonly ExportedRepository[],
  signal: AbortSignal,
): Promise<Map<number, Carried>> {
  const known = await exportedBefore(
    db,
    repositories.map(({ facts }) => facts.id),
  )
  const unchanged = new Map<number, Carried>()
  const waiting = repositories.filter(({ facts }) => known.has(facts.id)).values()

  async function work(): Promise<void> {
    for (const { position, facts } of waiting) {
      const startedAt = now()
      const name = { owner: facts.owner.login, name: facts.name }
      // What cannot be looked at now gets a job like any other, which tells why.
      const look = await segments.look(name, signal).catch(() => undefined)
      signal.throwIfAborted()
      const segmentKey = look && (await findSegment(db, look.fingerprint))
      if (segmentKey) {
        unchanged.set(position, { segmentKey, reused: true, bytes: look.bytes, startedAt })
      }
    }
  }

  await Promise.all(Array.from({ length: LOOKED_AT_ONCE }, work))
  return unchanged
}
