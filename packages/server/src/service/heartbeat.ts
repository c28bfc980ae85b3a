import { randomUUID } from 'node:crypto'
import { readdir, rm, stat, statfs, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { hasCode, ifExists } from '@godwit/lib/errno'
import { makeDirectory } from '@godwit/lib/make-directory'
import { repeatedly } from '@godwit/lib/timers'
import type { Db } from '../db/database.ts'
import { diskUsage } from '../exporter/scratch.ts'
import {
  DEAD_AFTER_MS,
  listProcesses,
  type ProcessRecord,
  recordHeartbeat,
  removeProcess,
} from '../queue/process-store.ts'
import type { DataPaths } from './data-paths.ts'
import type { Log } from './log.ts'
import type { ProcessDependencies } from './process-dependencies.ts'
import { VERSION } from './version.ts'

/** On a network file system, other machines may see a new file with a delay. */
const VISIBILITY_DELAY_MS = 30_000
/** Longer than the row of a dead process is kept in the database. */
const MAX_MARKER_AGE_MS = 2 * 3_600_000

export const NOT_SHARED =
  'the data directory is not shared by all processes, so some archives cannot be found'

interface MarkingDependencies {
  db: Db
  paths: Pick<DataPaths, 'blobs'>
  log: Pick<Log['log'], 'error' | 'warn'>
  isOnlyProcess: boolean
  /** A monotonic clock in milliseconds: setting the system clock must not affect the result. */
  elapsed?: () => number
}

/**
 * Manages the marker of this process: a file in the data directory, by which processes detect whether they share the directory. A
 * single process, or one with a bucket, needs none.
 */
export function createProcessMarker(
  { db, paths, log, isOnlyProcess, elapsed = () => performance.now() }: MarkingDependencies,
  own: string,
) {
  const folder = markerFolder(paths.blobs)
  const doNothing = async () => {}
  if (isOnlyProcess || folder === undefined)
    return { renew: doNothing, reportUnshared: doNothing, remove: doNothing }
  const reported = new Set<string>()
  let unmarked = new Map<string, Observation>()
  let markers = new Map<string, Observation>()
  return {
    /** Creates or touches the marker. Called with each heartbeat. An error is only logged, so that the heartbeat is still recorded. */
    renew: () =>
      renewMarker(folder, own).catch((err) =>
        log.warn({ err }, 'could not mark the data directory as used by this process'),
      ),
    /**
     * Logs each process that does not share the data directory, once: its row changes, so it is alive, but its marker has been missing
     * here for longer than VISIBILITY_DELAY_MS. Also removes the markers of crashed processes.
     */
    async reportUnshared() {
      const processes = await listProcesses(db)
      const here = new Set(await readdir(folder).catch(() => []))
      const missing = new Map<string, Observation>()
      for (const { id, host, pid, role, seenAt } of processes) {
        if (id === own || here.has(id)) continue
        const first = unmarked.get(id) ?? { value: seenAt, since: elapsed() }
        missing.set(id, first)
        const isAlive = first.value !== seenAt
        if (!isAlive || elapsed() - first.since < VISIBILITY_DELAY_MS || reported.has(id)) continue
        reported.add(id)
        log.error({ process: { role, pid, host } }, NOT_SHARED)
      }
      unmarked = missing
      markers = await sweepMarkers(folder, markers, elapsed()).catch(() => markers)
    },
    remove: () => rm(join(folder, own), { force: true }).catch(() => {}),
  }
}

/** Returns the directory of the markers, or undefined if the archives are in a bucket. */
export const markerFolder = (blobs: DataPaths['blobs']): string | undefined =>
  typeof blobs === 'string' ? join(dirname(blobs), 'processes') : undefined

async function renewMarker(folder: string, id: string): Promise<void> {
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

/**
 * Returns the processes whose rows in the database show that they are alive, but that have no marker here: they use another data
 * directory.
 */
export async function processesWithoutMarker<T extends Pick<ProcessRecord, 'id' | 'seenAt'>>(
  folder: string,
  processes: readonly T[],
  now: number,
): Promise<T[]> {
  const here = new Set(await readdir(folder).catch(() => []))
  return processes.filter(({ id, seenAt }) => seenAt > now - DEAD_AFTER_MS && !here.has(id))
}

/** A value, and when it was first observed. */
interface Observation {
  value: number
  since: number
}

/** Removes markers that have not been renewed for a long time: their processes crashed. Returns the observations of the others. */
async function sweepMarkers(
  folder: string,
  known: ReadonlyMap<string, Observation>,
  at: number,
): Promise<Map<string, Observation>> {
  const seen = new Map<string, Observation>()
  for (const name of await readdir(folder)) {
    const file = join(folder, name)
    const found = await ifExists(stat(file), 'ENOENT')
    if (!found) continue
    const last = known.get(name)
    const observation = last?.value === found.mtimeMs ? last : { value: found.mtimeMs, since: at }
    if (at - observation.since >= MAX_MARKER_AGE_MS) await rm(file, { force: true })
    else seen.set(name, observation)
  }
  return seen
}

const HEARTBEAT_INTERVAL_MS = 10_000

interface HeartbeatOptions {
  role: 'all' | 'api' | 'worker'
  concurrency: number
  /** The directory of temporary snapshots; absent if the process does not export. */
  scratch?: string | undefined
}

/** Records regularly in the database that this process is alive. The stack removes the record. */
export function startHeartbeat(
  dependencies: ProcessDependencies,
  { role, concurrency, scratch }: HeartbeatOptions,
  stack: AsyncDisposableStack,
): void {
  const { db, queue, now, log, paths } = dependencies
  const id = randomUUID()
  const marker = createProcessMarker(dependencies, id)
  // The row is written after the marker and removed before it: a process with a row always has a marker.
  stack.defer(marker.remove)
  const about = { id, host: hostname(), pid: process.pid, role, version: VERSION, concurrency }
  const startedAt = now()
  // An unavailable database must not keep the process from stopping.
  stack.defer(() => removeProcess(db, id).catch(() => {}))
  const heartbeat = repeatedly(
    async () => {
      await marker.renew()
      const freeBytes = role === 'api' ? null : await freeBytesOf(paths.blobs)
      const scratchBytes = scratch === undefined ? null : await diskUsage(scratch)
      const current = { runningJobs: queue.running(), seenAt: now(), freeBytes, scratchBytes }
      await recordHeartbeat(db, { ...about, startedAt, ...current })
      await marker.reportUnshared()
    },
    HEARTBEAT_INTERVAL_MS,
    (err) => log.warn({ err }, 'could not write the heartbeat'),
  )
  stack.defer(heartbeat.stop)
}

/** Returns null for a bucket, and if the directory cannot be read: the heartbeat is recorded anyway. */
async function freeBytesOf(blobs: DataPaths['blobs']): Promise<number | null> {
  if (typeof blobs !== 'string') return null
  return statfs(blobs).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => null,
  )
}
