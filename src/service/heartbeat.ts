import { randomUUID } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import { bytesBelow } from '../exporter/scratch.ts'
import { noteWorker, removeWorker } from '../queue/worker-store.ts'
import type { Places } from './places.ts'
import type { ProcessParts } from './process-parts.ts'
import { repeatedly } from './repeatedly.ts'
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
  { db, queue, now, log, places }: ProcessParts,
  { role, concurrency, scratch }: Beating,
  stack: AsyncDisposableStack,
): void {
  const id = randomUUID()
  const about = { id, host: hostname(), pid: process.pid, role, version: VERSION, concurrency }
  const startedAt = now()
  // Gone or not, nobody is kept from stopping by a database that is away.
  stack.defer(() => removeWorker(db, id).catch(() => {}))
  const beating = repeatedly(
    async () => {
      const freeBytes = role === 'api' ? null : await freeBytesOf(places.blobs)
      const scratchBytes = scratch === undefined ? null : await bytesBelow(scratch)
      const room = { freeBytes, scratchBytes }
      const lately = { runningJobs: queue.running(), startedAt, seenAt: now(), ...room }
      await noteWorker(db, { ...about, ...lately })
    },
    EVERY_MS,
    (err) => log.warn({ err }, 'could not write the heartbeat'),
  )
  stack.defer(beating.stop)
}

/** Unknown where it cannot be asked: a sign of life matters more. A bucket does not say. */
async function freeBytesOf(blobs: Places['blobs']): Promise<number | null> {
  if (typeof blobs !== 'string') return null
  return statfs(blobs).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => null,
  )
}
