import { mapConcurrent } from '../lib/map-concurrent.ts'
import type { Exported } from '../migrations/outcome-store.ts'
import { findSegments, probablyUnchanged } from '../migrations/segment-store.ts'
import type { RepositoryFacts } from '../repositories/facts.ts'
import { isRecentlyChecked, type ReuseParts } from './check-segments.ts'
import type { Inspection, SegmentMaker } from './make-segment.ts'
import { storedLength } from './read-digest.ts'

export interface LookParts extends ReuseParts {
  segments: SegmentMaker
}

/** With where it is among those of its migration. */
export interface PlacedRepository {
  position: number
  facts: RepositoryFacts
}

const LOOKED_AT_ONCE = 8

/**
 * Those that have a segment already, by their position. Found together, they end together: a transaction each would cost
 * more than the look. What has probably changed is left to its own job, which looks as well: so each is looked at once. So is
 * what must be read before it can be reused, or has been lost.
 */
export async function findUnchanged(
  parts: LookParts,
  repositories: readonly PlacedRepository[],
  signal: AbortSignal,
): Promise<Map<number, Exported & { segmentKey: string }>> {
  const { db, blobs, segments, now } = parts
  const ids = repositories.map(({ facts }) => facts.id)
  const worthALook = await probablyUnchanged(db, ids)
  const looks: (Inspection & { position: number; startedAt: number })[] = []
  const looked = repositories.filter(({ facts }) => worthALook.has(facts.id))
  await mapConcurrent(
    looked,
    { lanes: LOOKED_AT_ONCE, signal },
    async ({ position, facts }, stop) => {
      const startedAt = now()
      const name = { owner: facts.owner.login, name: facts.name }
      // What cannot be looked at now gets a job like any other, which tells why.
      const look = await segments.inspect(name, stop).catch(() => undefined)
      if (look) looks.push({ ...look, position, startedAt })
    },
  )
  const fingerprints = looks.map(({ fingerprint }) => fingerprint)
  const found = await findSegments(db, fingerprints)
  const unchanged = new Map<number, Exported & { segmentKey: string }>()
  await mapConcurrent(looks, { lanes: LOOKED_AT_ONCE, signal }, async (look) => {
    const { position, fingerprint, bytes, startedAt } = look
    const segment = found.get(fingerprint)
    if (!segment || !isRecentlyChecked(parts, segment)) return
    const { key, length } = segment
    if ((await storedLength(blobs, key).catch(() => undefined)) !== length) return
    unchanged.set(position, { segmentKey: key, reused: true, bytes, startedAt })
  })
  return unchanged
}
