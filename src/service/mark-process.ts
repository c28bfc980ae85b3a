import type { Db } from '../db/database.ts'
import { listWorkers } from '../queue/worker-store.ts'
import type { Log } from './log.ts'
import type { Places } from './places.ts'
import {
  leaveMarker,
  markerFolder,
  NOT_SHARED,
  removeMarker,
  strangersTo,
  sweepMarkers,
} from './process-marker.ts'

/** A file server may show a new file to other machines a little later. */
const SEEN_AFTER_MS = 30_000

interface MarkingParts {
  db: Db
  places: Pick<Places, 'blobs'>
  log: Pick<Log['log'], 'error' | 'warn'>
  now: () => number
  isOnlyProcess: boolean
}

export interface Marking {
  leave(): Promise<void>
  /** Tells, once for each, of processes that keep their archives elsewhere. */
  lookForOthers(): Promise<void>
  remove(): Promise<void>
}

/** This process's mark in the data directory, where several are to share one. */
export function markProcess(
  { db, places, log, now, isOnlyProcess }: MarkingParts,
  id: string,
): Marking {
  const folder = markerFolder(places)
  const nothing = async () => {}
  if (isOnlyProcess || folder === undefined)
    return { leave: nothing, lookForOthers: nothing, remove: nothing }
  const told = new Set<string>()
  return {
    // A sign of life matters more than a mark.
    leave: () =>
      leaveMarker(folder, id).catch((err) =>
        log.warn({ err }, 'could not mark the data directory as used by this process'),
      ),
    async lookForOthers() {
      const workers = await listWorkers(db)
      const settled = workers.filter(({ startedAt }) => startedAt <= now() - SEEN_AFTER_MS)
      for (const { id, host, pid, role } of await strangersTo(folder, settled, now())) {
        if (told.has(id)) continue
        told.add(id)
        log.error({ process: { role, pid, host } }, NOT_SHARED)
      }
      await sweepMarkers(folder, now()).catch(() => {})
    },
    remove: () => removeMarker(folder, id).catch(() => {}),
  }
}
