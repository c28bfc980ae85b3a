import { readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Db } from '../db/database.ts'
import { hasCode, ifExists } from '../lib/errno.ts'
import { makeDirectory } from '../lib/make-directory.ts'
import { listWorkers, SILENT_MS, type WorkerRecord } from '../queue/worker-store.ts'
import type { DataPaths } from './data-paths.ts'
import type { Log } from './log.ts'

/** A file server may show a new file to other machines a little later. */
const SEEN_AFTER_MS = 30_000
/** Longer than any process is remembered by its row. */
const LEFT_BEHIND_MS = 2 * 3_600_000

export const NOT_SHARED =
  'the data directory is not shared with all processes, so that archives cannot be found'

interface MarkingParts {
  db: Db
  places: Pick<DataPaths, 'blobs'>
  log: Pick<Log['log'], 'error' | 'warn'>
  isOnlyProcess: boolean
  /** Milliseconds of a clock that is never set: what is judged here must not depend on the clock of the day. */
  elapsed?: () => number
}

export interface Marking {
  leave(): Promise<void>
  /**
   * Tells, once for each, of processes that keep their archives elsewhere: those whose row was seen to change while their mark was
   * missing all the time.
   */
  lookForOthers(): Promise<void>
  remove(): Promise<void>
}

/** This process's mark in the data directory, where several are to share one. */
export function markProcess(
  { db, places, log, isOnlyProcess, elapsed = () => performance.now() }: MarkingParts,
  own: string,
): Marking {
  const folder = markerFolder(places)
  const nothing = async () => {}
  if (isOnlyProcess || folder === undefined)
    return { leave: nothing, lookForOthers: nothing, remove: nothing }
  const told = new Set<string>()
  let unmarked = new Map<string, Sight>()
  let marks = new Map<string, Sight>()
  return {
    // A sign of life matters more than a mark.
    leave: () =>
      leaveMarker(folder, own).catch((err) =>
        log.warn({ err }, 'could not mark the data directory as used by this process'),
      ),
    async lookForOthers() {
      const workers = await listWorkers(db)
      const here = new Set(await readdir(folder).catch(() => []))
      const missing = new Map<string, Sight>()
      for (const { id, host, pid, role, seenAt } of workers) {
        if (id === own || here.has(id)) continue
        const first = unmarked.get(id) ?? { value: seenAt, since: elapsed() }
        missing.set(id, first)
        const isAlive = first.value !== seenAt
        if (!isAlive || elapsed() - first.since < SEEN_AFTER_MS || told.has(id)) continue
        told.add(id)
        log.error({ process: { role, pid, host } }, NOT_SHARED)
      }
      unmarked = missing
      marks = await sweepMarkers(folder, marks, elapsed()).catch(() => marks)
    },
    remove: () => rm(join(folder, own), { force: true }).catch(() => {}),
  }
}

/** Where processes that share a directory of archives leave their marks; undefined where they share a bucket. */
export const markerFolder = ({ blobs }: Pick<DataPaths, 'blobs'>): string | undefined =>
  typeof blobs === 'string' ? join(dirname(blobs), 'processes') : undefined

/** A file that every process sees which has the same directory, and no other. Written again, it is younger. */
async function leaveMarker(folder: string, id: string): Promise<void> {
  makeDirectory(folder, 0o700)
  const file = join(folder, id)
  const now = new Date()
  try {
    await utimes(file, now, now)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    await writeFile(file, '')
  }
}

/** Processes that live by their rows and have left no mark here: their archives are elsewhere. */
export async function unexpectedProcesses<T extends Pick<WorkerRecord, 'id' | 'seenAt'>>(
  folder: string,
  workers: readonly T[],
  now: number,
): Promise<T[]> {
  const here = new Set(await readdir(folder).catch(() => []))
  return workers.filter(({ id, seenAt }) => seenAt > now - SILENT_MS && !here.has(id))
}

/** What something was when it was first seen to be so, and when that was. */
interface Sight {
  value: number
  since: number
}

/** Removes marks of processes that ended without a word: those that nobody has renewed for long. Returns what it saw of the others. */
async function sweepMarkers(
  folder: string,
  known: ReadonlyMap<string, Sight>,
  at: number,
): Promise<Map<string, Sight>> {
  const seen = new Map<string, Sight>()
  for (const name of await readdir(folder)) {
    const file = join(folder, name)
    const found = await ifExists(stat(file), 'ENOENT')
    if (!found) continue
    const last = known.get(name)
    const sight = last?.value === found.mtimeMs ? last : { value: found.mtimeMs, since: at }
    if (at - sight.since >= LEFT_BEHIND_MS) await rm(file, { force: true })
    else seen.set(name, sight)
  }
  return seen
}
