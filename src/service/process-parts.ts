import type { BlobStore } from '../blobs/blob-store.ts'
import { type BlobOperation, watchErrors } from '../blobs/watch-errors.ts'
import { lockDataDirectory, sqliteFile } from '../db/connect.ts'
import type { Database, Db } from '../db/database.ts'
import { primaryCode, throwIfCorrupt } from '../db/sqlite-corruption.ts'
import { createGit } from '../git/git.ts'
import { UserError } from '../lib/user-error.ts'
import { embeddedQueue } from '../queue/embedded.ts'
import type { Queue } from '../queue/queue.ts'
import { type Addresses, addressesFrom } from '../repositories/addresses.ts'
import type { RightsRefresher } from '../repositories/refresh-rights.ts'
import type { Config } from '../settings/config.ts'
import { exposedFile } from '../settings/config-file.ts'
import type { Forge } from '../sources/forge/connect-forge.ts'
import type { Source } from '../sources/source.ts'
import { countBlobErrors } from './blob-errors.ts'
import { type DataPaths, dataPathsOf, openBlobs, openSource } from './data-paths.ts'
import { openRights } from './fresh-rights.ts'
import { keepCatalogue } from './keep-catalogue.ts'
import type { Log } from './log.ts'
import { openDatabase } from './open-database.ts'
import { openForge, withForge } from './open-forge.ts'
import { requireGit } from './requirements.ts'

/** What every long-running process of Godwit stands on, whatever its role. */
export interface ProcessParts extends Pick<Database, 'db' | 'pool'> {
  places: DataPaths
  /** Absent where the repositories are not at hand. */
  source: Source | undefined
  /** Absent where there is none beside the repositories. */
  forge: Forge | undefined
  /** Absent where there is no forge. */
  rights: RightsRefresher | undefined
  blobs: BlobStore
  /** Counts a failure of the blob store; those of `blobs` are counted as they are. */
  onBlobError: (operation: BlobOperation) => void
  queue: Queue
  addresses: Addresses
  now: () => number
  log: Log['log']
  /** Nobody else works on this database: whatever looks unfinished was left by the dead. */
  isOnlyProcess: boolean
  /** Whether the repositories, where they are at hand, have been read once since the start. */
  isCatalogueRead: () => boolean
}

/** Opened one after the other; the stack closes them in reverse. */
export async function openProcessParts(
  config: Config,
  logging: Log,
  stack: AsyncDisposableStack,
): Promise<ProcessParts> {
  const { log } = logging
  const exposed = exposedFile(config.file)
  if (exposed) log.warn(exposed)
  const isOnlyProcess = config.databaseUrl === undefined
  const { db, pool } = await openData(config, logging, stack).catch((error: unknown) => {
    throw isOnlyProcess ? asDataDirectoryError(error, config.data) : error
  })
  const { repositories } = config
  const places = dataPathsOf(config, repositories ?? '')
  if (repositories !== undefined) await requireGit(config, createGit(places.git))
  const onBlobError = countBlobErrors(db, log, stack)
  const now = Date.now
  const forge = await openForge(config, { db, now, log })
  const source =
    repositories === undefined ? undefined : withForge(openSource(places), forge, { db, now, log })
  const shared = {
    db,
    ...(pool && { pool }),
    places,
    source,
    forge,
    rights: openRights({ db, now, log, source, forge }),
    blobs: watchErrors(await openBlobs(places), onBlobError),
    onBlobError,
    queue: await openQueue(config, db, log, stack),
    addresses: addressesFrom(config),
    now,
    log,
    isOnlyProcess,
  }
  const catalogue = keepCatalogue(shared, config.syncInterval)
  stack.defer(catalogue.stop)
  return { ...shared, isCatalogueRead: catalogue.isRead }
}

/** The database; where it is a file, nobody else's and whole. */
async function openData(
  config: Config,
  { log, close: closeLog }: Log,
  stack: AsyncDisposableStack,
): Promise<Database> {
  if (config.databaseUrl === undefined) {
    stack.defer(lockDataDirectory(config.data))
    throwIfCorrupt(sqliteFile(config.data))
  }
  const database = await openDatabase(config, {
    onIdleError: (err) => log.warn({ err }, 'lost a database connection'),
    onDamage(err) {
      log.fatal({ err }, 'the database is damaged; stopping, so that nothing more is written')
      closeLog()
      process.exit(1)
    },
  })
  stack.defer(database.close)
  return database
}

/** SQLite: read-only, input/output, full, cannot open. */
const OF_THE_DISK = new Set([8, 10, 13, 14])

/** What the disk or its permissions refuse, an operator can mend: in a line, without where in the code it was noticed. */
function asDataDirectoryError(error: unknown, data: string): unknown {
  const isOfDisk = error instanceof Error && ('syscall' in error || isOfSqlite(error))
  if (!isOfDisk) return error
  return new UserError(`cannot work in the data directory ${data}: ${error.message}`, {
    cause: error,
  })
}

const isOfSqlite = (error: unknown): boolean => OF_THE_DISK.has(primaryCode(error) ?? 0)

/** The embedded queue is a table of ours; processes that share a PostgreSQL share pg-boss on it. */
async function openQueue(
  { databaseUrl }: Config,
  db: Db,
  log: Log['log'],
  stack: AsyncDisposableStack,
): Promise<Queue> {
  if (databaseUrl === undefined) return embeddedQueue({ db })
  const { createPgBossQueue } = await import('../queue/pg-boss.ts')
  const onError = (err: unknown) => log.warn({ err }, 'queue error')
  const queue = createPgBossQueue({ databaseUrl, db, onError })
  await queue.start()
  stack.defer(queue.stop)
  return queue
}
