import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { Db } from '../../db/database.ts'

export interface DependencyParts {
  db: Db
  blobs: BlobStore
  log: Logger
  /** Whether the catalogue has been synchronized once since the start. */
  isCatalogueRead: () => boolean
  /** Rejects if the data directory cannot be written; absent if neither the database nor archives are in it. */
  probeData?: (() => Promise<void>) | undefined
}

/** A service or directory that this process needs. */
export interface Dependency {
  name: 'catalogue' | 'database' | 'blobs' | 'data'
  /** Without it, reads, downloads and deletions still work; migrations cannot be started or exported. */
  isForWritesOnly?: true
  isAvailable(): Promise<boolean>
}

/** Load balancers give up on a readiness check after a few seconds. */
const PROBE_TIMEOUT_MS = 2000
/** A probe that does not end is replaced by a new one, because its connection may be dead. */
const MAX_PROBE_AGE_MS = 15_000
/** How long a success is cached: readiness is checked often, and requests to a bucket cost money. */
const CACHED_MS = { database: 0, blobs: 5000, data: 5000 }

export function dependencies(parts: DependencyParts): Dependency[] {
  const { db, blobs, log, isCatalogueRead, probeData } = parts
  const probed = (name: keyof typeof CACHED_MS, probe: () => Promise<unknown>): Dependency => {
    const sharedProbe = shareProbe(probe, CACHED_MS[name])
    return {
      name,
      async isAvailable() {
        try {
          await withDeadline(sharedProbe())
          return true
        } catch (err) {
          log.warn({ err, name }, 'a dependency does not answer')
          return false
        }
      },
    }
  }
  return [
    { name: 'catalogue', isAvailable: async () => isCatalogueRead() },
    probed('database', () => sql`select 1`.execute(db)),
    probed('blobs', () => blobs.probe({ signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })),
    ...(probeData ? [{ ...probed('data', probeData), isForWritesOnly: true as const }] : []),
  ]
}

interface Probe {
  result: Promise<unknown>
  startedAt: number
  state: 'running' | 'succeeded' | 'failed'
}

/** Concurrent callers share one probe, and a success is cached: probes do not slow down a slow store further. */
function shareProbe(probe: () => Promise<unknown>, cachedMs: number): () => Promise<unknown> {
  const maxAgeMs = { running: MAX_PROBE_AGE_MS, succeeded: cachedMs, failed: 0 }
  let last: Probe | undefined
  return () => {
    if (last && performance.now() - last.startedAt < maxAgeMs[last.state]) return last.result
    const next: Probe = { result: probe(), startedAt: performance.now(), state: 'running' }
    next.result.then(
      () => Object.assign(next, { state: 'succeeded' }),
      () => Object.assign(next, { state: 'failed' }),
    )
    last = next
    return next.result
  }
}

/** Rejects if the work takes longer than a readiness check may. The work itself goes on. */
export async function withDeadline<T>(work: Promise<T>): Promise<T> {
  const finished = new AbortController()
  const timeout = sleep(PROBE_TIMEOUT_MS, undefined, { signal: finished.signal, ref: false }).then(
    () => {
      throw new Error(`no answer within ${PROBE_TIMEOUT_MS} ms`)
    },
  )
  try {
    return await Promise.race([work, timeout])
  } finally {
    finished.abort()
    timeout.catch(() => {})
  }
}
