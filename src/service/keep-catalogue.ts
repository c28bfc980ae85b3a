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
const AT_WORK_EVERY_MS = 2000
/** Whoever has not said for so long that it is at work has died at it. */
const SILENT_MS = 10_000

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

  /** With the first word that it is at work, so that nobody takes it for dead. */
  const takeTurnAndSaySo = (): Promise<boolean> =>
    db.transaction().execute(async (tx) => {
      const isTaken = await takeTurn(tx, { name: NAME, everyMs, now: now() })
      if (isTaken) await noteTurnAtWork(tx, NAME, now())
      return isTaken
    })

  async function syncInTurn(): Promise<void> {
    if (!(await takeTurnAndSaySo())) return
    const word = repeat(() => noteTurnAtWork(db, NAME, now()), AT_WORK_EVERY_MS)
    try {
      await sync()
    } catch (error) {
      await giveTurnBack(db, NAME)
      throw error
    } finally {
      await word.stop()
    }
    await noteTurnEnd(db, NAME, now())
  }

  async function watchOthers(): Promise<void> {
    isRead ||= await hasTurnEnded(db, NAME, since)
    const silentSince = now() - SILENT_MS
    if (isRead || startedAt > silentSince || (await isTurnAtWork(db, NAME, silentSince))) return
    await giveTurnBack(db, NAME)
    await syncInTurn()
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
