import { randomUUID } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import { diskUsage } from '../exporter/scratch.ts'
import { repeatedly } from '../lib/repeatedly.ts'
import { recordHeartbeat, removeWorker } from '../queue/worker-store.ts'
import type { DataPaths } from './data-paths.ts'
import { markProcess } from './mark-process.ts'
import type { ProcessParts } from './process-parts.ts'
import { VERSION } from './version.ts'

const HEARTBEAT_INTERVAL_MS = 10_000

interface HeartbeatOptions {
  role: 'all' | 'api' | 'worker'
  concurrency: number
  /** The directory of its snapshots; absent if the process does not export. */
  scratch?: string | undefined
}

/** Records regularly in the database that this process is alive. The stack removes the record. */
export function keepHeartbeat(
  parts: ProcessParts,
  { role, concurrency, scratch }: HeartbeatOptions,
  stack: AsyncDisposableStack,
): void {
  const { db, queue, now, log, paths } = parts
  const id = randomUUID()
  const mark = markProcess(parts, id)
  // The row is written after the mark and removed before it: a process with a row always has a mark.
  stack.defer(mark.remove)
  const about = { id, host: hostname(), pid: process.pid, role, version: VERSION, concurrency }
  const startedAt = now()
  // An unavailable database must not keep the process from stopping.
  stack.defer(() => removeWorker(db, id).catch(() => {}))
  const heartbeat = repeatedly(
    async () => {
      await mark.leave()
      const freeBytes = role === 'api' ? null : await freeBytesOf(paths.blobs)
      const scratchBytes = scratch === undefined ? null : await diskUsage(scratch)
      const current = { runningJobs: queue.running(), seenAt: now(), freeBytes, scratchBytes }
      await recordHeartbeat(db, { ...about, startedAt, ...current })
      await mark.lookForOthers()
    },
    HEARTBEAT_INTERVAL_MS,
    (err) => log.warn({ err }, 'could not write the heartbeat'),
  )
  stack.defer(heartbeat.stop)
}

/** Returns null for a bucket, and if the directory cannot be examined: the heartbeat matters more. */
async function freeBytesOf(blobs: DataPaths['blobs']): Promise<number | null> {
  if (typeof blobs !== 'string') return null
  return statfs(blobs).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => null,
  )
}
