import type { BlobStore } from '../blobs/blob-store.ts'
import { type BlobOperation, watchErrors } from '../blobs/watch-errors.ts'
import type { Config } from '../config.ts'
import type { Database, Db } from '../db/connect.ts'
import { lockDataDirectory } from '../db/data-directory-lock.ts'
import { embeddedQueue } from '../queue/embedded.ts'
import type { Queue } from '../queue/queue.ts'
import { type Addresses, addressesFrom } from '../repositories/addresses.ts'
import { syncCatalogue } from '../repositories/sync.ts'
import type { Source } from '../sources/source.ts'
import { countBlobErrors } from './blob-errors.ts'
import { type ExportPlaces, exportPlaces, openBlobs, openSource } from './export-places.ts'
import type { Log } from './log.ts'
import { openDatabase, requireGit } from './parts.ts'
import { repeatedly } from './repeatedly.ts'

/** What every long-running process of Godwit stands on, whatever its role. */
export interface Foundation extends Pick<Database, 'db' | 'pool'> {
  places: ExportPlaces
  /** Absent where the repositories are not at hand. */
  source: Source | undefined
  blobs: BlobStore
  /** Counts a failure of the blob store; those of `blobs` are counted as they are. */
  onBlobError: (operation: BlobOperation) => void
  queue: Queue
  addresses: Addresses
  now: () => number
  log: Log['log']
  /** Nobody else works on this database: whatever looks unfinished was left by the dead. */
  isAlone: boolean
  /** Whether the repositories, where they are at hand, have been read once since the start. */
  isCatalogueRead: () => boolean
}

/** Laid from the ground up; the stack takes it down in reverse. */
export async function layFoundation(
  config: Config,
  { log }: Log,
  stack: AsyncDisposableStack,
): Promise<Foundation> {
  const isAlone = config.databaseUrl === undefined
  if (isAlone) stack.defer(lockDataDirectory(config.data))
  const { db, pool, close } = await openDatabase(config, (err) =>
    log.warn({ err }, 'lost a connection'),
  )
  stack.defer(close)
  const { repositories } = config
  const places = exportPlaces(config, repositories ?? '')
  if (repositories !== undefined) await requireGit(places.git)
  const onBlobError = countBlobErrors(db, log, stack)
  const foundation = {
    db,
    ...(pool && { pool }),
    places,
    source: repositories === undefined ? undefined : openSource(places),
    blobs: watchErrors(await openBlobs(places), onBlobError),
    onBlobError,
    queue: await openQueue(config, db, log, stack),
    addresses: addressesFrom(config),
    now: Date.now,
    log,
    isAlone,
  }
  const catalogue = keepCatalogue(foundation, config.syncInterval)
  stack.defer(catalogue.stop)
  return { ...foundation, isCatalogueRead: catalogue.isRead }
}

/** The embedded queue is a table of ours; processes that share a PostgreSQL share pg-boss on it. */
async function openQueue(
  { databaseUrl }: Config,
  db: Db,
  log: Log['log'],
  stack: AsyncDisposableStack,
): Promise<Queue> {
  if (databaseUrl === undefined) return embeddedQueue({ db })
  const { createPgBossQueue } = await import('../queue/pg-boss.ts')
  const onTrouble = (err: unknown) => log.warn({ err }, 'trouble with the queue')
  const queue = createPgBossQueue({ databaseUrl, db, onTrouble })
  await queue.start()
  stack.defer(queue.stop)
  return queue
}

const NEVER = 2 ** 31 - 1

/** Reads the catalogue at once, in the background, and again at every interval. */
function keepCatalogue(
  { db, source, now, log }: Omit<Foundation, 'isCatalogueRead'>,
  intervalMs: number,
) {
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
