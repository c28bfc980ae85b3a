import { acquireLease, completeLease, hasCompletedSince, renewLease } from '../db/lease-store.ts'
import { repeatedly } from '../lib/repeatedly.ts'
import { settleReleasedLocks } from '../migrations/locks.ts'
import type { RightsRefresher } from '../repositories/refresh-rights.ts'
import { type SyncParts, type SyncReport, syncCatalogue } from '../repositories/sync.ts'
import type { Source } from '../sources/source.ts'
import { refreshAllRights } from './fresh-rights.ts'
import type { Log } from './log.ts'

interface CatalogueParts extends Omit<SyncParts, 'source'> {
  source: Source | undefined
  /** Absent where there is no forge. */
  rights?: RightsRefresher | undefined
  log: Log['log']
  isOnlyProcess: boolean
}

const NAME = 'synchronizing the catalogue'
const NEVER = 2 ** 31 - 1
/** Processes that start together and synchronize only then share one turn. */
const TOGETHER_MS = 60_000
const WATCHED_EVERY_MS = 1000
/** A process that has not renewed its lease for so long has died or failed. */
const LEASE_TTL_MS = 10_000
const RENEW_INTERVAL_MS = 2000

/**
 * Synchronizes the catalogue at once, in the background, and again at every interval. Of several processes one does it, and
 * the others wait for its end.
 */
export function keepCatalogue(parts: CatalogueParts, intervalMs: number) {
  const { db, source, now, log, isOnlyProcess } = parts
  if (!source) return { stop: async () => {}, isRead: () => true }
  const everyMs = intervalMs || TOGETHER_MS
  const startedAt = now()
  const since = startedAt - everyMs
  let isRead = false
  const sync = syncing({ ...parts, source }, () => {
    isRead = true
  })

  async function syncInTurn(): Promise<void> {
    const begunAt = now()
    const request = { name: NAME, ttlMs: LEASE_TTL_MS, maxTtlMs: Math.max(everyMs, LEASE_TTL_MS) }
    const lease = await acquireLease(db, { ...request, now: begunAt })
    if (!lease) return
    const renewal = repeat(() => renewLease(db, lease, now()), RENEW_INTERVAL_MS)
    try {
      // A failed sync lets the lease expire: then this process or another one tries again.
      await sync()
    } finally {
      await renewal.stop()
    }
    await completeLease(db, lease, { now: now(), nextAt: begunAt + everyMs })
  }

  async function watchOthers(): Promise<void> {
    isRead ||= await hasCompletedSince(db, NAME, since)
    if (!isRead) await syncInTurn()
  }

  const repeat = (task: () => Promise<void>, ms: number) =>
    repeatedly(task, ms, (err) => log.error({ err }, 'could not synchronize the catalogue'))
  const tasks = isOnlyProcess
    ? [repeat(sync, intervalMs || NEVER)]
    : [repeat(syncInTurn, intervalMs || NEVER), repeat(watchOthers, WATCHED_EVERY_MS)]
  return {
    isRead: () => isRead,
    async stop() {
      await Promise.all(tasks.map((task) => task.stop()))
    },
  }
}

/** Synchronizes the catalogue each time that it is called, and tells what is to be told of it. */
function syncing(
  { db, source, rights, now, log }: CatalogueParts & { source: Source },
  onRead: () => void,
): () => Promise<void> {
  let told: ReadonlyMap<string, string> = new Map()

  /** What stays damaged is told once, not at every look. */
  function tellNew(broken: SyncReport['broken']): void {
    for (const { fullName, reason } of broken) {
      if (told.get(fullName) === reason) continue
      log.warn({ repository: fullName, reason }, `${fullName} cannot be read: ${reason}`)
    }
    told = new Map(broken.map(({ fullName, reason }) => [fullName, reason]))
  }

  return async () => {
    const { broken, refused, warnings, ...counts } = await syncCatalogue({ db, source, now })
    if (rights) await refreshAllRights({ db, now }, rights)
    onRead()
    tellNew(broken)
    for (const entry of refused)
      log.warn(entry, entry.isWithdrawn ? `skipped: ${entry.reason}` : 'skipped: not a repository')
    for (const entry of warnings) log.warn(entry, 'members ignored')
    log.info(counts, 'catalogue synchronized')
    // A repository that has come back may bring a lock with it that was let go of meanwhile.
    await settleReleasedLocks({ db, source, now }).catch((err: unknown) =>
      log.error({ err }, 'could not update locks'),
    )
  }
}
