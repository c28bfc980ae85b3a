import { randomBytes, randomUUID } from 'node:crypto'
import { open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Forge } from '@godwit/hosts/forge/connect-forge'
import type { Source } from '@godwit/hosts/source'
import { collectGarbage } from '@godwit/lib/collect-garbage'
import { addDiskDetails, describeDiskFailure } from '@godwit/lib/disk-errors'
import { type DiskReserve, diskReserve } from '@godwit/lib/disk-reserve'
import { repeatedly } from '@godwit/lib/timers'
import { UserError } from '@godwit/lib/user-error'
import type { BlobStore } from '../blobs/blob-store.ts'
import { type BlobOperation, watchErrors } from '../blobs/watch-errors.ts'
import { lockDataDirectory, sqliteFile } from '../db/connect.ts'
import { removeCopyMarks } from '../db/copy-marks.ts'
import type { Database, Db } from '../db/database.ts'
import { throwIfCorrupt } from '../db/sqlite-handle.ts'
import { addBlobErrors } from '../migrations/outcome-counts.ts'
import { embeddedQueue } from '../queue/embedded.ts'
import type { Queue } from '../queue/queue.ts'
import { type Addresses, addressesFrom } from '../repositories/addresses.ts'
import type { PermissionsRefresher } from '../repositories/refresh-permissions.ts'
import {
  type BlobSettings,
  type DataPaths,
  dataPathsOf,
  openBlobs,
  openSource,
  requireGit,
  type SourceSettings,
} from './data-paths.ts'
import type { Log } from './log.ts'
import {
  type ForgeSettings,
  openConfiguredForge,
  openPermissions,
  withForge,
} from './open-configured-forge.ts'
import { type DatabaseSettings, openDatabase, requireWritableDirectory } from './open-database.ts'
import { startRepositorySync } from './repository-sync.ts'

export interface ProcessSettings
  extends SourceSettings,
    BlobSettings,
    DatabaseSettings,
    ForgeSettings {
  repositories: string | undefined
  syncInterval: number
  baseUrl: string
  webUrl: string
  cloneUrl: string
  sshUrl: string
  /** Whether the operator has set `sshUrl`. */
  servesSsh: boolean
}

/** The dependencies that every long-running process has, whatever its role. */
export interface ProcessDependencies extends Pick<Database, 'db' | 'pool'> {
  paths: DataPaths
  /** Absent without `--repositories`. */
  source: Source | undefined
  /** Absent without `--forge`. */
  forge: Forge | undefined
  /** Absent without `--forge`. */
  permissionsRefresher: PermissionsRefresher | undefined
  blobs: BlobStore
  /** Counts an error of the blob store. `blobs` calls it already; segment threads have their own stores. */
  onBlobError: (operation: BlobOperation) => void
  queue: Queue
  addresses: Addresses
  now: () => number
  log: Log['log']
  /** Whether no other process can use the database, so that unfinished work was left by a process that died. */
  isOnlyProcess: boolean
  /** Lets changes that free space succeed on a full disk. Absent with PostgreSQL, which has its own disk. */
  reserve: DiskReserve | undefined
  /** Rejects if the data directory is not writable. Absent if neither the database nor archives are in it. */
  probeData: (() => Promise<void>) | undefined
  /** Whether the repository index has been synchronized once since the start; always true without `--repositories`. */
  isIndexRead: () => boolean
}

/** Opens the dependencies. The stack closes them in reverse order. */
export async function openProcessDependencies(
  settings: ProcessSettings,
  { log }: Log,
  stack: AsyncDisposableStack,
): Promise<ProcessDependencies> {
  const isOnlyProcess = settings.databaseUrl === undefined
  const { db, pool } = await openLockedDatabase(settings, log, stack).catch((error: unknown) => {
    throw isOnlyProcess ? asDataDirectoryError(error, settings.data) : error
  })
  const { repositories } = settings
  const paths = dataPathsOf(settings, repositories ?? '')
  if (repositories !== undefined) await requireGit(paths.git)
  const onBlobError = countBlobErrors(db, log, stack)
  const now = Date.now
  const forge = await openConfiguredForge(settings, { db, now, log })
  const source =
    repositories === undefined ? undefined : withForge(openSource(paths), forge, { db, now, log })
  const shared = {
    db,
    ...(pool && { pool }),
    paths,
    source,
    forge,
    permissionsRefresher: openPermissions({ db, now, log, source, forge }),
    blobs: watchErrors(await openBlobs(paths.blobs), onBlobError),
    onBlobError,
    queue: await openQueue(settings, db, log, stack),
    addresses: addressesFrom(settings),
    now,
    log,
    isOnlyProcess,
    reserve: isOnlyProcess ? openReserve(settings.data, log, stack) : undefined,
    probeData:
      isOnlyProcess || settings.blobs === undefined ? () => probeWrite(settings.data) : undefined,
  }
  const repositorySync = startRepositorySync(shared, settings.syncInterval)
  stack.defer(repositorySync.stop)
  return { ...shared, isIndexRead: repositorySync.isRead }
}

const REFILL_INTERVAL_MS = 60_000

function openReserve(data: string, log: Log['log'], stack: AsyncDisposableStack): DiskReserve {
  const reserve = diskReserve(data)
  const refilling = repeatedly(reserve.refill, REFILL_INTERVAL_MS, (err) =>
    log.warn({ err }, 'could not reserve disk space for deletions'),
  )
  stack.defer(refilling.stop)
  return reserve
}

/** More than the database writes for the start of a small migration. */
const PROBE_BYTES = randomBytes(64 * 1024)

/** Rejects if the directory is not writable: its disk is full, read-only or missing. Leaves no file behind. */
async function probeWrite(directory: string): Promise<void> {
  const file = join(directory, `.write-probe-${randomUUID()}`)
  await using handle = await open(file, 'wx', 0o600)
  await unlink(file)
  await handle.writeFile(PROBE_BYTES)
}

const INTERVAL_MS = 1000
/** The CPU time of the whole process counts, because a compaction during an export would make the segment threads wait. */
const MAX_IDLE_CPU_MS = 50

/**
 * Compacts the heap once, in the first idle second after the process has started and the repository index is read. An idle service then
 * uses about 110 MB instead of 126 MB. It blocks for 150 ms.
 */
export function releaseMemoryOnce(
  dependencies: ProcessDependencies,
  stack: AsyncDisposableStack,
): void {
  let last = process.cpuUsage()
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(last)
    last = process.cpuUsage()
    if (!dependencies.isIndexRead() || user + system > MAX_IDLE_CPU_MS * 1000) return
    clearInterval(timer)
    collectGarbage('last-resort')
  }, INTERVAL_MS).unref()
  stack.defer(() => clearInterval(timer))
}

/** Opens the database. A SQLite file is locked for this process first, and checked for damage. */
async function openLockedDatabase(
  settings: DatabaseSettings,
  log: Log['log'],
  stack: AsyncDisposableStack,
): Promise<Database> {
  if (settings.databaseUrl === undefined) {
    requireWritableDirectory(settings.data)
    stack.defer(lockDataDirectory(settings.data))
    throwIfCorrupt(sqliteFile(settings.data))
  }
  const database = await openDatabase(settings, {
    onIdleError: (err) => log.warn({ err }, 'lost a database connection'),
    onDamage(err) {
      log.fatal({ err }, 'the database is damaged; stopping, so that nothing more is written')
      process.exit(1)
    },
  })
  stack.defer(database.close)
  // From now on it is more than a copy, so no later copy may replace it.
  await removeCopyMarks(database.db, 'target')
  return database
}

/** Converts an error of the disk or its permissions to one line for the operator, without a stack. */
function asDataDirectoryError(error: unknown, data: string): unknown {
  const failure = describeDiskFailure(addDiskDetails(error, data))
  const reason = failure ?? (error instanceof Error && 'syscall' in error && error.message)
  if (!reason) return error
  return new UserError(`cannot work in the data directory ${data}: ${reason}`, { cause: error })
}

/** Opens the queue: a table in SQLite, or pg-boss in PostgreSQL, which all processes share. */
async function openQueue(
  { databaseUrl }: DatabaseSettings,
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

const WRITE_BLOB_ERRORS_INTERVAL_MS = 5000

/** Returns a function that counts errors of the blob store. Every few seconds the counts are added to those in the database. */
function countBlobErrors(
  db: Db,
  log: Log['log'],
  stack: AsyncDisposableStack,
): (operation: BlobOperation) => void {
  let counts = new Map<string, number>()
  const count = (operation: string, more = 1) =>
    counts.set(operation, (counts.get(operation) ?? 0) + more)

  async function write(): Promise<void> {
    if (counts.size === 0) return
    const batch = counts
    counts = new Map()
    await addBlobErrors(db, batch).catch((error: unknown) => {
      for (const [operation, failed] of batch) count(operation, failed)
      throw error
    })
  }

  const onFailure = (err: unknown) => log.warn({ err }, 'could not record errors of the blob store')
  stack.defer(() => write().catch(onFailure))
  const writing = repeatedly(write, WRITE_BLOB_ERRORS_INTERVAL_MS, onFailure)
  stack.defer(writing.stop)
  return (operation) => count(operation)
}
