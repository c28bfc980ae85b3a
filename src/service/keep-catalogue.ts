import { type SyncParts, syncCatalogue } from '../repositories/sync.ts'
import type { Source } from '../sources/source.ts'
import type { Log } from './log.ts'
import { repeatedly } from './repeatedly.ts'

interface CatalogueParts extends Omit<SyncParts, 'source'> {
  source: Source | undefined
  log: Log['log']
}

const NEVER = 2 ** 31 - 1

/** Reads the catalogue at once, in the background, and again at every interval. */
export function keepCatalogue({ db, source, now, log }: CatalogueParts, intervalMs: number) {
  if (!source) return { stop: async () => {}, isRead: () => true }
  let isRead = false
  async function sync(): Promise<void> {
    const { broken, refused, ...counts } = await syncCatalogue({ db, source: source!, now })
    isRead = true
    for (const repository of broken) log.warn(repository, 'a repository cannot be read')
    for (const entry of refused) log.warn(entry, 'not taken as a repository')
    log.info(counts, 'catalogue in line with the repositories')
  }
  const { stop } = repeatedly(sync, intervalMs || NEVER, (err) => log.error({ err }, 'sync failed'))
  return { stop, isRead: () => isRead }
}
