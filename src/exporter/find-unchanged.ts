import type { Db } from '../db/database.ts'
import { inLanes } from '../ground/lanes.ts'
import type { Exported } from '../migrations/outcome-store.ts'
import { findSegments, probablyUnchanged } from '../migrations/segment-store.ts'
import type { RepositoryFacts } from '../repositories/facts.ts'
import type { Look, SegmentMaker } from './segment-maker.ts'

export interface LookParts {
  db: Db
  segments: SegmentMaker
  now: () => number
}

/** With where it is among those of its migration. */
export interface PlacedRepository {
  position: number
  facts: RepositoryFacts
}

const LOOKED_AT_ONCE = 8

/**
 * Those that have a segment already, by their position. Found together, they end together: a transaction each would cost
 * more than the look. What has probably changed is left to its own job, which looks as well: so each is looked at once.
 */
export async function findUnchanged(
  { db, segments, now }: LookParts,
  repositories: readonly PlacedRepository[],
  signal: AbortSignal,
): Promise<Map<number, Exported & { segmentKey: string }>> {
  const ids = repositories.map(({ facts }) => facts.id)
  const worthALook = await probablyUnchanged(db, ids)
  const looks: (Look & { position: number; startedAt: number })[] = []
  const looked = repositories.filter(({ facts }) => worthALook.has(facts.id))
  await inLanes(looked, { lanes: LOOKED_AT_ONCE, signal }, async ({ position, facts }, stop) => {
    const startedAt = now()
    const name = { owner: facts.owner.login, name: facts.name }
    // What cannot be looked at now gets a job like any other, which tells why.
    const look = await segments.look(name, stop).catch(() => undefined)
    if (look) looks.push({ ...look, position, startedAt })
  })
  const fingerprints = looks.map(({ fingerprint }) => fingerprint)
  const segmentKeys = await findSegments(db, fingerprints)
  const unchanged = new Map<number, Exported & { segmentKey: string }>()
  for (const { position, fingerprint, bytes, startedAt } of looks) {
    const segmentKey = segmentKeys.get(fingerprint)
    if (segmentKey) unchanged.set(position, { segmentKey, reused: true, bytes, startedAt })
  }
  return unchanged
}
