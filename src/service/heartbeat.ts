import { randomUUID } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import { bytesBelow } from '../exporter/scratch.ts'
import { repeatedly } from '../lib/repeatedly.ts'
import { noteWorker, removeWorker } from '../queue/worker-store.ts'
import type { DataPaths } from './data-paths.ts'
import { markProcess } from './mark-process.ts'
import type { ProcessParts } from './process-parts.ts'
import { VERSION } from './version.ts'

const EVERY_MS = 10_000

interface Beating {
  role: 'all' | 'api' | 'worker'
  concurrency: number
  /** Where its snapshots are; absent where it does not export. */
  scratch?: string | undefined
}

/** Tells the others, by the database, that this process lives; the stack takes it back. */
export function keepHeartbeat(
  parts: ProcessParts,
  { role, concurrency, scratch }: Beating,
  stack: AsyncDisposableStack,
): void {
  const { db, queue, now, log, places } = parts
  const id = randomUUID()
  const marking = markProcess(parts, id)
  // The row goes before the mark, and comes after it: a process that is known has one.
  stack.defer(marking.remove)
  const about = { id, host: hostname(), pid: process.pid, role, version: VERSION, concurrency }
  const startedAt = now()
  // Gone or not, nobody is kept from stopping by a database that is away.
  stack.defer(() => removeWorker(db, id).catch(() => {}))
  const beating = repeatedly(
    async () => {
      await marking.leave()
      const freeBytes = role === 'api' ? null : await freeBytesOf(places.blobs)
      const scratchBytes = scratch === undefined ? null : await bytesBelow(scratch)
      const room = { freeBytes, scratchBytes }
      const lately = { runningJobs: queue.running(), startedAt, seenAt: now(), ...room }
      await noteWorker(db, { ...about, ...lately })
      await marking.lookForOthers()
    },
    EVERY_MS,
    (err) => log.warn({ err }, 'could not write the heartbeat'),
  )
  stack.defer(beating.stop)
}

/** Unknown where it cannot be asked: a sign of life matters more. A bucket does not say. */
async function freeBytesOf(blobs: DataPaths['blobs']): Promise<number | null> {
  if (typeof blobs !== 'string') return null
  return statfs(blobs).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => null,
  )
}
