import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { BlobStore } from '../../../blobs/blob-store.ts'
import type { Db } from '../../../db/database.ts'

export interface ReadinessDependencies {
  db: Db
  blobs: BlobStore
  log: Logger
  /** Returns whether the repository index has been synchronized since this process started. */
  isIndexRead: () => boolean
  /** Rejects if `blobs` is not the store of this database, such as an empty directory without its mount. */
  probeStoreOwner: () => Promise<void>
  /** Rejects if the data directory is not writable. Absent if neither the database nor archives are in it. */
  probeData?: (() => Promise<void>) | undefined
  /** Rejects if the forge does not respond. Absent without a forge. */
  probeForge?: ((signal: AbortSignal) => Promise<unknown>) | undefined
}

/** A service or directory that this process needs. */
export interface Dependency {
  name: 'catalogue' | 'database' | 'blobs' | 'data' | 'forge'
  /** While this dependency is unavailable, migrations cannot be started or exported, but reads, downloads and deletions work. */
  isForWritesOnly?: true
  isAvailable(): Promise<boolean>
}

/** Load balancers give up on a readiness check after a few seconds. */
const PROBE_TIMEOUT_MS = 2000
/** A probe that runs longer is replaced by a new one, because its connection may be dead. */
const MAX_PROBE_AGE_MS = 15_000
/** How long a success is cached: readiness is checked often, and requests to a bucket cost money. */
const SUCCESS_TTL_MS = { database: 0, blobs: 5000, data: 5000, forge: 30_000 }

/** Returns the dependencies of this process, each with a probe for readiness checks and metrics. */
export function createDependencyProbes(dependencies: ReadinessDependencies): Dependency[] {
  const { db, blobs, log, isIndexRead, probeStoreOwner, probeData, probeForge } = dependencies
  const dependency = (name: keyof typeof SUCCESS_TTL_MS, probe: () => Promise<unknown>) => {
    const sharedProbe = shareProbe(probe, SUCCESS_TTL_MS[name])
    return {
      name,
      async isAvailable() {
        try {
          await withProbeTimeout(sharedProbe())
          return true
        } catch (err) {
          log.warn({ err, name }, 'a dependency is unavailable')
          return false
        }
      },
    }
  }
  const timeout = () => AbortSignal.timeout(PROBE_TIMEOUT_MS)
  const isForWritesOnly = true as const
  return [
    { name: 'catalogue', isAvailable: async () => isIndexRead() },
    dependency('database', () => sql`select 1`.execute(db)),
    dependency('blobs', async () => {
      await blobs.probe({ signal: timeout() })
      await probeStoreOwner()
    }),
    ...(probeData ? [{ ...dependency('data', probeData), isForWritesOnly }] : []),
    ...(probeForge
      ? [{ ...dependency('forge', () => probeForge(timeout())), isForWritesOnly }]
      : []),
  ]
}

/** Shares one probe between concurrent callers, and caches a success, so that probes do not add load to a slow store. */
function shareProbe(probe: () => Promise<unknown>, successTtlMs: number): () => Promise<unknown> {
  let last: { result: Promise<unknown>; startedAt: number; maxAgeMs: number } | undefined
  return () => {
    if (last && performance.now() - last.startedAt < last.maxAgeMs) return last.result
    const next = { result: probe(), startedAt: performance.now(), maxAgeMs: MAX_PROBE_AGE_MS }
    next.result.then(
      () => Object.assign(next, { maxAgeMs: successTtlMs }),
      () => Object.assign(next, { maxAgeMs: 0 }),
    )
    last = next
    return next.result
  }
}

/** Rejects if the work takes longer than a readiness check may take. The work is not aborted. */
export async function withProbeTimeout<T>(work: Promise<T>): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => reject(new Error(`no response within ${PROBE_TIMEOUT_MS} ms`)),
    PROBE_TIMEOUT_MS,
  ).unref()
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer))
}
