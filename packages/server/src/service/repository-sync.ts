import { setFlagsFromString } from 'node:v8'
import type { Source } from '@godwit/hosts/source'
import { repeatedly } from '@godwit/lib/timers'
import { mapConcurrent } from '@godwit/lib/turns'
import type { Db } from '../db/database.ts'
import {
  acquireLease,
  completeLease,
  hasCompletedSince,
  renewLease,
  whileRenewing,
} from '../db/lease-store.ts'
import { reconcileReleasedLocks } from '../migrations/locks.ts'
import { recentlySignedIn } from '../repositories/permission-store.ts'
import { PermissionsUnavailable } from '../repositories/permissions-unavailable.ts'
import {
  ignoreRemoval,
  type PermissionsRefresher,
  RECENT_IF_AVAILABLE,
} from '../repositories/refresh-permissions.ts'
import {
  type SyncDependencies,
  type SyncReport,
  syncAllRepositories,
} from '../repositories/sync.ts'
import type { Log } from './log.ts'

interface RepositorySyncDependencies extends Omit<SyncDependencies, 'source'> {
  source: Source | undefined
  /** Absent without a forge. */
  permissionsRefresher?: PermissionsRefresher | undefined
  log: Log['log']
  isOnlyProcess: boolean
}

const LEASE_NAME = 'synchronizing repositories'
const NEVER_MS = 2 ** 31 - 1
/** Without an interval, processes that start within this time of each other synchronize once together. */
const SHARED_START_MS = 60_000
const WATCH_INTERVAL_MS = 1000
/** A process that has not renewed its lease for this long has died or failed. */
const LEASE_TTL_MS = 10_000

/**
 * Synchronizes the repository index in the background, now and at every interval. With several processes, one of them does it and the
 * others wait until it has finished.
 */
export function startRepositorySync(dependencies: RepositorySyncDependencies, intervalMs: number) {
  const { db, source, now, log, isOnlyProcess } = dependencies
  if (!source) return { stop: async () => {}, isRead: () => true }
  const everyMs = intervalMs || SHARED_START_MS
  const since = now() - everyMs
  let isRead = false
  const sync = createSync({ ...dependencies, source }, () => {
    isRead = true
  })

  async function syncWithLease(): Promise<void> {
    const startedAt = now()
    const maxTtlMs = Math.max(everyMs, LEASE_TTL_MS)
    const request = { name: LEASE_NAME, ttlMs: LEASE_TTL_MS, maxTtlMs, now: startedAt }
    const lease = await acquireLease(db, request)
    if (!lease) return
    // If this fails, the lease expires, and this process or another one tries again.
    const proveLease = (tx: Db) => renewLease(tx, lease, now())
    await whileRenewing({ db, lease, now }, (signal) => sync({ signal, proveLease }))
    await completeLease(db, lease, { now: now(), nextAt: startedAt + everyMs })
  }

  async function watchOthers(): Promise<void> {
    isRead ||= await hasCompletedSince(db, LEASE_NAME, since)
    if (!isRead) await syncWithLease()
  }

  const repeat = (task: () => Promise<void>, ms: number) =>
    repeatedly(task, ms, (err) => log.error({ err }, 'could not synchronize the repositories'))
  const tasks = isOnlyProcess
    ? [repeat(() => sync(), intervalMs || NEVER_MS)]
    : [repeat(syncWithLease, intervalMs || NEVER_MS), repeat(watchOthers, WATCH_INTERVAL_MS)]
  return {
    isRead: () => isRead,
    async stop() {
      await Promise.all(tasks.map((task) => task.stop()))
    },
  }
}

/** Returns a function that synchronizes the repository index and logs the result. */
function createSync(
  { db, source, permissionsRefresher, now, log }: RepositorySyncDependencies & { source: Source },
  onRead: () => void,
) {
  let reported: ReadonlyMap<string, string> = new Map()

  /** Logs each damaged repository only once, not at every synchronization. */
  function logNewlyBroken(broken: SyncReport['broken']): void {
    for (const { fullName, reason } of broken) {
      if (reported.get(fullName) === reason) continue
      log.warn({ repository: fullName, reason }, `${fullName} cannot be read: ${reason}`)
    }
    reported = new Map(broken.map(({ fullName, reason }) => [fullName, reason]))
  }

  return async ({ signal, proveLease }: Pick<SyncDependencies, 'signal' | 'proveLease'> = {}) => {
    // V8 would let the garbage of a first synchronization grow to more than the rest of the process: 225 to 255 MB of memory instead
    // of 153 to 170 MB, with 60 repositories of 300 MB. At other times its default costs less CPU time.
    setFlagsFromString('--heap-growing-percent=50')
    const sync = syncAllRepositories({ db, source, now, log, signal, proveLease })
    const { broken, refused, warnings, ...counts } = await sync.finally(() =>
      setFlagsFromString('--heap-growing-percent=0'),
    )
    onRead()
    if (permissionsRefresher)
      await refreshAllPermissions({ db, permissionsRefresher, signal }, now())
    logNewlyBroken(broken)
    for (const entry of refused) log.warn(entry, `${entry.path} is skipped: ${entry.reason}`)
    for (const entry of warnings) log.warn(entry, `${entry.path}: members ignored: ${entry.reason}`)
    log.info(counts, 'repositories synchronized')
    // A repository that was missing may still be locked, although its lock was released meanwhile.
    await reconcileReleasedLocks({ db, source, now }).catch((err: unknown) =>
      log.error({ err }, 'could not update locks'),
    )
  }
}

const DAY_MS = 24 * 60 * 60 * 1000
const MAX_ACCOUNTS = 500
const REFRESH_CONCURRENCY = 4

/**
 * Refreshes the permissions of the accounts that signed in during the last day. An account whose permissions the forge does not report does
 * not delay the others or the repository index: its requests read the permissions again.
 */
async function refreshAllPermissions(
  {
    db,
    permissionsRefresher,
    signal,
  }: { db: Db; permissionsRefresher: PermissionsRefresher; signal: AbortSignal | undefined },
  now: number,
): Promise<void> {
  const accounts = await recentlySignedIn(db, now - DAY_MS, MAX_ACCOUNTS)
  await mapConcurrent(accounts.values(), { concurrency: REFRESH_CONCURRENCY, signal }, (account) =>
    permissionsRefresher.refresh(account, RECENT_IF_AVAILABLE).catch((error: unknown) => {
      if (!(error instanceof PermissionsUnavailable)) ignoreRemoval(error)
    }),
  )
}
