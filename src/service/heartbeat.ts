import { randomUUID } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import { diskUsage } from '../exporter/scratch.ts'
import { repeatedly } from '../lib/timers.ts'
import { recordHeartbeat, removeProcess } from '../queue/process-store.ts'
import type { DataPaths } from './data-paths.ts'
import { createProcessMarker } from './mark-process.ts'
import type { ProcessParts } from './process-parts.ts'
import { VERSION } from './version.ts'

const HEARTBEAT_INTERVAL_MS = 10_000

interface HeartbeatOptions {
  role: 'all' | 'api' | 'worker'
  concurrency: number
  /** The directory of temporary snapshots; absent if the process does not export. */
  scratch?: string | undefined
}

/** Records regularly in the database that this process is alive. The stack removes the record. */
export function startHeartbeat(
  parts: ProcessParts,
  { role, concurrency, scratch }: HeartbeatOptions,
  stack: AsyncDisposableStack,
): void {
  const { db, queue, now, log, paths } = parts
  const id = randomUUID()
  const marker = createProcessMarker(parts, id)
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
