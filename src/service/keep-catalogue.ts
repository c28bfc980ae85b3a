import { repeatedly } from '../lib/repeatedly.ts'
import { settleReleasedLocks } from '../migrations/locks.ts'
import {
  giveTurnBack,
  hasTurnEnded,
  isTurnAtWork,
  noteTurnAtWork,
  noteTurnEnd,
  takeTurn,
} from '../queue/turn-store.ts'
import type { RightsRefresher } from '../repositories/refresh-rights.ts'
import { type SyncParts, type SyncReport, syncCatalogue } from '../repositories/sync.ts'
import type { Source } from '../sources/source.ts'
import { refreshAllRights } from './fresh-rights.ts'
import type { Log } from './log.ts'

interface CatalogueParts extends Omit<SyncParts, 'source'> {
  source: Source | undefined
  /** Absent without a forge. */
  rights?: RightsRefresher | undefined
  log: Log['log']
  isOnlyProcess: boolean
}

const TASK = 'synchronizing the catalogue'
const NEVER_MS = 2 ** 31 - 1
/** Without an interval, processes that start within this time synchronize once together. */
const SHARED_START_MS = 60_000
const WATCH_INTERVAL_MS = 1000
const AT_WORK_INTERVAL_MS = 2000
/** A process that has not reported progress for this long has died. */
const MAX_SILENCE_MS = 10_000

/**
 * Synchronizes the catalogue in the background, now and at every interval. If there are several processes, one of them does it and
 * the others wait until it has finished.
 */
export function keepCatalogue(parts: CatalogueParts, intervalMs: number) {
  const { db, source, now, log, isOnlyProcess } = parts
  if (!source) return { stop: async () => {}, isRead: () => true }
  const everyMs = intervalMs || SHARED_START_MS
  const startedAt = now()
  const since = startedAt - everyMs
  let isRead = false
  const sync = createSync({ ...parts, source }, () => {
    isRead = true
  })

  /** Takes the turn and reports progress in one transaction, so that no process considers this one dead. */
  const claimTurn = (): Promise<boolean> =>
    db.transaction().execute(async (tx) => {
      const isTaken = await takeTurn(tx, { name: TASK, everyMs, now: now() })
      if (isTaken) await noteTurnAtWork(tx, TASK, now())
      return isTaken
    })

  async function syncInTurn(): Promise<void> {
    if (!(await claimTurn())) return
    const reporting = repeat(() => noteTurnAtWork(db, TASK, now()), AT_WORK_INTERVAL_MS)
    try {
      await sync()
    } catch (error) {
      await giveTurnBack(db, TASK)
      throw error
    } finally {
      await reporting.stop()
    }
    await noteTurnEnd(db, TASK, now())
  }

  async function watchOthers(): Promise<void> {
    isRead ||= await hasTurnEnded(db, TASK, since)
    const silentSince = now() - MAX_SILENCE_MS
    if (isRead || startedAt > silentSince || (await isTurnAtWork(db, TASK, silentSince))) return
    await giveTurnBack(db, TASK)
    await syncInTurn()
  }

  const repeat = (task: () => Promise<void>, ms: number) =>
    repeatedly(task, ms, (err) => log.error({ err }, 'could not synchronize the catalogue'))
  const tasks = isOnlyProcess
    ? [repeat(sync, intervalMs || NEVER_MS)]
    : [repeat(syncInTurn, intervalMs || NEVER_MS), repeat(watchOthers, WATCH_INTERVAL_MS)]
  return {
    isRead: () => isRead,
    async stop() {
      await Promise.all(tasks.map((task) => task.stop()))
    },
  }
}

/** Returns a function that synchronizes the catalogue and logs the result. */
function createSync(
  { db, source, rights, now, log }: CatalogueParts & { source: Source },
  onRead: () => void,
): () => Promise<void> {
  let reported: ReadonlyMap<string, string> = new Map()

  /** Logs a damaged repository once, not at every synchronization. */
  function logNewlyBroken(broken: SyncReport['broken']): void {
    for (const { fullName, reason } of broken) {
      if (reported.get(fullName) === reason) continue
      log.warn({ repository: fullName, reason }, `${fullName} cannot be read: ${reason}`)
    }
    reported = new Map(broken.map(({ fullName, reason }) => [fullName, reason]))
  }

  return async () => {
    const { broken, refused, warnings, ...counts } = await syncCatalogue({ db, source, now })
    if (rights) await refreshAllRights({ db, now }, rights)
    onRead()
    logNewlyBroken(broken)
    for (const entry of refused)
      log.warn(entry, entry.isWithdrawn ? `skipped: ${entry.reason}` : 'skipped: not a repository')
    for (const entry of warnings) log.warn(entry, 'members ignored')
    log.info(counts, 'catalogue synchronized')
    // A repository that was missing may still have a lock that was released meanwhile.
    await settleReleasedLocks({ db, source, now }).catch((err: unknown) =>
      log.error({ err }, 'could not update locks'),
    )
  }
}
