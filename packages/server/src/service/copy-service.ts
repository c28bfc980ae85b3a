import { existsSync, realpathSync } from 'node:fs'
import { formatCount } from '@godwit/lib/quantities'
import { mapConcurrent } from '@godwit/lib/turns'
import { UsageError, UserError } from '@godwit/lib/user-error'
import { type Actor, inAuditedTransaction, THE_SERVICE } from '../accounts/audit-log.ts'
import { BlobExists, type BlobStore } from '../blobs/blob-store.ts'
import { lockDataDirectory } from '../db/connect.ts'
import { findCopyMark, removeCopyMarks, writeCopyMark } from '../db/copy-marks.ts'
import {
  type CopiedTable,
  copyTables,
  countCopiedRows,
  openCopySession,
  RowDigest,
} from '../db/copy-tables.ts'
import { countRows, type Database, type Db } from '../db/database.ts'
import { withoutPassword } from '../db/database-address.ts'
import { ownerKey } from '../exporter/blob-store-owner.ts'
import { isBlobMissing, readDigest, storedLength } from '../exporter/read-digest.ts'
import { countArchives, type ReferencedBlob, referencedBlobs } from '../migrations/archive-store.ts'
import { countSegments } from '../migrations/segment-store.ts'
import { copyJobs } from '../queue/copy-jobs.ts'
import { DEAD_AFTER_MS, listProcesses } from '../queue/process-store.ts'
import { type BlobSettings, blobsAddress, blobsOf, openBlobs } from './data-paths.ts'
import { type DatabaseSettings, openDatabase } from './open-database.ts'

/** The settings of a source or target that say where its data is. */
export interface DataSettings extends DatabaseSettings, BlobSettings {}

export interface CopyRequest {
  from: DataSettings
  /** The settings with the new database; undefined if the database stays where it is. */
  database: DataSettings | undefined
  /** The settings with the new blob store; undefined if the archives stay where they are. */
  blobs: DataSettings | undefined
  /** Copy from one moment while the service runs. Implies `keepSource`. */
  isOnline: boolean
  /** Do not mark the source as moved. */
  keepSource: boolean
  /** Also compare the digest of every blob. */
  isFull: boolean
  signal: AbortSignal
  onProgress(progress: CopyProgress): void
  /** For the audit log. By default the service. */
  actor?: Actor
}

export interface CopyProgress {
  step: 'archives' | 'tables' | 'verifying'
  /** Bytes of archives, or rows of tables. */
  done: number
  total: number
  /** The part of `done` that took no time, because the target had it already. */
  found: number
}

export interface CopyReport {
  /** Everything up to this time was copied, in epoch milliseconds. */
  asOf: number
  /** Empty if the database stays where it is. */
  tables: CopiedTable[]
  /** Undefined if the archives stay where they are. */
  blobs: BlobTotals | undefined
  unfinishedMigrations: number
  isMoved: boolean
}

interface BlobTotals {
  count: number
  bytes: number
  copied: number
  /** Keys of blobs that are missing or damaged at the source already. */
  damaged: string[]
  /** The sum of their SHA-256; only after a full verification. */
  digest?: string
}

/** Blobs are copied and compared this many at a time. */
const CONCURRENCY = 8
/** While the service is running, its new blobs are copied until a pass finds so few bytes. */
const SMALL_PASS_BYTES = 64 * 1024 * 1024
const MAX_PASSES = 5
/** An online copy is repeated if the service deleted blobs meanwhile that the copied rows refer to. */
const MAX_ONLINE_ATTEMPTS = 3
/** A number that no other application on the same PostgreSQL is likely to lock. */
const COPY_LOCK = 0x676f6463

/**
 * Copies a service. Blobs come first, because they are immutable and can be copied while the service runs; then all rows, from one
 * moment and in one transaction. A copy that ended early continues with the blobs that are missing, and copies the rows again.
 */
export async function copyService(request: CopyRequest): Promise<CopyReport> {
  const { from, isOnline } = request
  const isMoved = !isOnline && !request.keepSource
  await using stack = new AsyncDisposableStack()
  const source = await openDatabase(from, { mustExist: true, copiedAs: 'source' })
  stack.defer(source.close)
  await lockPostgres(source, stack)
  const address = addressOf(request)
  await requireCopyable(source.db, request, address)
  const mark = await ownerKey(source.db)
  const blobs = request.blobs && (await openStores(from, request.blobs, mark))
  const target = request.database && (await openTarget(request.database, mark, stack))
  // Nothing is written before both are checked.
  if (target && !target.isCopy) await writeCopyMark(target.db, 'target', 'started', mark)
  if (blobs?.isEmpty) await blobs.target.put(mark, [])
  // The copy has this entry too.
  const audit = { db: source.db, now: Date.now }
  await inAuditedTransaction(audit, request.actor ?? THE_SERVICE, (tx, record) =>
    record(tx, 'service.copy', { details: { to: address, online: isOnline } }),
  )
  const copy = { ...request, source, target, blobs }

  const isStopped = !isOnline && (await lockIfStopped(from, source.db, stack))
  for (let pass = 1; blobs && !isStopped && pass <= MAX_PASSES; pass++) {
    const { copied } = await copyBlobs(copy, blobs, source.db)
    if (copied < SMALL_PASS_BYTES) break
  }
  if (!isOnline && !isStopped && !(await lockIfStopped(from, source.db, stack)))
    throw new UserError(
      `${blobs ? 'the archives are copied, but ' : ''}the service is still running: stop it and run the same command again, which copies only the rest (or add --online for a copy of this moment)`,
    )
  if (isMoved && target) await writeCopyMark(source.db, 'source', 'started', address)
  const report = await copyRest(copy).catch(async (error: unknown) => {
    // The service stays usable after an error. After a kill the mark stays, and the same command continues.
    if (isMoved && target) await removeCopyMarks(source.db, 'source')
    throw error
  })
  if (target) await writeCopyMark(target.db, 'target', 'finished', mark)
  if (isMoved && target) await writeCopyMark(source.db, 'source', 'finished', address)
  else if (isMoved) await writeCopyMark(source.db, 'blobs', 'finished', blobsAddress(from))
  return { ...report, isMoved }
}

interface Copy extends Omit<CopyRequest, 'blobs'> {
  source: Database
  target: OpenedTarget | undefined
  blobs: Stores | undefined
}

interface Stores {
  source: BlobStore
  target: BlobStore
  /** Whether the target has no blobs and no owner mark yet. */
  isEmpty: boolean
}

/** `isCopy` is set if the target has an earlier copy of the service, which stays usable until its rows are replaced. */
type OpenedTarget = Database & { settings: DataSettings; isCopy: boolean }

/** Copies the rows, and the blobs that they refer to and the target does not have yet. */
async function copyRest(copy: Copy): Promise<Omit<CopyReport, 'isMoved'>> {
  const { source, target, isOnline } = copy
  for (let attempt = 1; ; attempt++) {
    const asOf = Date.now()
    const tables = target ? await copyRows(copy, target) : []
    const { db } = target ?? source
    const blobs = copy.blobs && (await copyBlobs(copy, copy.blobs, db))
    // The service may have deleted the missing blobs after their rows were read. Blobs that are damaged are so in every attempt.
    if (isOnline && target && blobs?.damaged.length && attempt < MAX_ONLINE_ATTEMPTS) continue
    if (copy.blobs && copy.isFull) Object.assign(blobs!, await compareBlobs(copy, copy.blobs, db))
    if (!isOnline && (await hasLiveProcess(copy.from, source.db)))
      throw new UserError('a service was started during the copy: stop it, and run this again')
    const unfinished = db.selectFrom('migrations').where('state', 'in', ['pending', 'exporting'])
    return { asOf, tables, blobs, unfinishedMigrations: await countRows(unfinished) }
  }
}

async function copyRows(
  { from, source, signal, onProgress }: Copy,
  target: OpenedTarget,
): Promise<CopiedTable[]> {
  await using reading = await openCopySession(source, from.data, { isReadOnly: true })
  await using writing = await openCopySession(target, target.settings.data, { isReadOnly: false })
  const started = "update copies set state = 'started' where role = 'target' returning role"
  if ((await writing.run(started)).rows.length === 0)
    throw new UserError('a service was started on the target during the copy')
  const total = await countCopiedRows(reading)
  let done = 0
  const tables = await copyTables(reading, writing, (count) => {
    signal.throwIfAborted()
    done += count
    onProgress({ step: 'tables', done, total, found: 0 })
  })
  tables.push(await copyJobs(reading, writing, target.settings.databaseUrl))
  await writing.commit()
  // The planner of PostgreSQL knows nothing about the new rows yet.
  await target.pool?.query('analyze')
  return tables
}

/** Copies the blobs that the rows of `db` refer to, unless the target has them. */
async function copyBlobs(copy: Copy, stores: Stores, db: Db): Promise<BlobTotals> {
  const totals: BlobTotals = { count: 0, bytes: 0, copied: 0, damaged: [] }
  await forEachBlob(copy, db, 'archives', async (blob, signal) => {
    const { isCopied, stored } = await copyBlob(stores, blob, signal)
    if (stored !== blob.length) totals.damaged.push(blob.key)
    totals.count += 1
    totals.bytes += stored ?? 0
    if (isCopied) totals.copied += stored ?? 0
    return isCopied
  })
  return totals
}

/** Copies a blob unless the target has it, or it cannot be read. `stored` is its length at the target. */
async function copyBlob(
  { source, target }: Stores,
  { key, length }: ReferencedBlob,
  signal: AbortSignal,
): Promise<{ isCopied: boolean; stored: number | undefined }> {
  const existing = await storedLength(target, key)
  if (existing === length) return { isCopied: false, stored: length }
  const actual = await storedLength(source, key)
  if (actual === undefined || actual === existing) return { isCopied: false, stored: existing }
  if (existing !== undefined) await target.delete(key)
  let isMissing = false
  async function* read() {
    try {
      yield* await source.open(key, undefined, { signal })
    } catch (error) {
      isMissing = isBlobMissing(error)
      throw error
    }
  }
  try {
    await target.put(key, read(), { signal })
  } catch (error) {
    signal.throwIfAborted()
    if (isMissing) return { isCopied: false, stored: undefined }
    // A put whose last step fails may have stored the blob.
    if (!(error instanceof BlobExists)) throw error
  }
  return { isCopied: true, stored: await storedLength(target, key) }
}

/** Compares the digests of all blobs. Throws a UserError if a blob is intact at the source only. */
async function compareBlobs(
  copy: Copy,
  { source, target }: Stores,
  db: Db,
): Promise<Pick<BlobTotals, 'damaged' | 'digest'>> {
  const digest = new RowDigest()
  const damaged: string[] = []
  const different: string[] = []
  await forEachBlob(copy, db, 'verifying', async ({ key, length, sha256 }, signal) => {
    const copied = await readDigest(target, key, { signal })
    digest.add([key, copied?.sha256])
    if (copied && copied.sha256 === sha256) return true
    const original = await readDigest(source, key, { signal })
    if (copied?.sha256 !== original?.sha256) different.push(key)
    else if (sha256 !== undefined || original?.length !== length) damaged.push(key)
    return true
  })
  if (different.length > 0)
    throw new UserError(
      `${formatCount(different.length, 'blob at the target differs', 'blobs at the target differ')} from the source: delete ${different.slice(0, 3).join(', ')} there, and run the same command again`,
    )
  return { damaged, digest: String(digest) }
}

/**
 * Calls `work` for every blob that the rows of `db` refer to, and reports the progress. `work` returns whether it had to read the blob.
 */
async function forEachBlob(
  { signal, onProgress }: Copy,
  db: Db,
  step: CopyProgress['step'],
  work: (blob: ReferencedBlob, signal: AbortSignal) => Promise<boolean>,
): Promise<void> {
  const total = (await countSegments(db)).bytes + (await countArchives(db)).composedBytes
  const progress: CopyProgress = { step, done: 0, total, found: 0 }
  const options = { concurrency: CONCURRENCY, signal }
  await mapConcurrent(referencedBlobs(db), options, async (blob, stop) => {
    if (!(await work(blob, stop))) progress.found += blob.length
    progress.done += blob.length
    onProgress(progress)
  })
}

/** Opens both stores. Throws a UserError if the target has blobs of another service. */
async function openStores(from: DataSettings, to: DataSettings, mark: string): Promise<Stores> {
  const isSame = blobsAddress(from) === blobsAddress(to)
  if (isSame || (!from.blobs && !to.blobs && realDirectory(from) === realDirectory(to)))
    throw new UsageError(`${blobsAddress(to)} is where the archives are already`)
  const target = await openBlobs(blobsOf(to))
  const isEmpty = (await storedLength(target, mark)) === undefined
  if (isEmpty)
    for await (const _ of target.list())
      throw new UserError(
        `${blobsAddress(to)} is not empty, and not a copy of this service: choose another directory or bucket`,
      )
  return { source: await openBlobs(blobsOf(from)), target, isEmpty }
}

/** Opens the target. Throws a UserError if it belongs to another service, or was used since it was copied. */
async function openTarget(
  settings: DataSettings,
  mark: string,
  stack: AsyncDisposableStack,
): Promise<OpenedTarget> {
  if (settings.databaseUrl === undefined) stack.defer(lockDataDirectory(settings.data))
  const database = await openDatabase(settings, { copiedAs: 'target' })
  stack.defer(database.close)
  const { db } = database
  await lockPostgres(database, stack)
  const copied = await findCopyMark(db, 'target')
  const isUsed =
    (await countRows(db.selectFrom('accounts'))) + (await countRows(db.selectFrom('secrets'))) > 0
  if (copied ? copied.address !== mark : isUsed)
    throw new UserError(
      `${databaseAddress(settings)} is not empty, and not an unused copy of this service: choose another database or directory`,
    )
  return { ...database, settings, isCopy: copied !== undefined }
}

/** Allows one copy at a time from or to a PostgreSQL database, and so none from a database to itself. */
async function lockPostgres({ pool }: Database, stack: AsyncDisposableStack): Promise<void> {
  const client = await pool?.connect()
  if (!client) return
  stack.defer(async () => {
    // The server notices a closed connection later, when the next copy may already have begun.
    await client.query('select pg_advisory_unlock($1)', [COPY_LOCK]).catch(() => {})
    client.release(true)
  })
  const { rows } = await client.query('select pg_try_advisory_lock($1) as locked', [COPY_LOCK])
  if (!rows[0].locked) throw new UserError('another copy from or to this database is running')
}

/** Throws a UserError if the source was copied and then left, or the request would leave two services with the same archives. */
async function requireCopyable(
  db: Db,
  { from, database, blobs, keepSource, isOnline }: CopyRequest,
  address: string,
): Promise<void> {
  const isKept = keepSource || isOnline
  if (database && realDirectory(database) === realDirectory(from) && !database.databaseUrl)
    throw new UsageError(`${database.data} is the data directory of the source`)
  if (database && !blobs && isKept)
    throw new UsageError(
      'two services must not have the same archives: add --to-blobs, or leave out --keep-source and --online',
    )
  if ((await findCopyMark(db, 'target'))?.state === 'started')
    throw new UserError('the source is itself an unfinished copy: finish that copy first')
  const moved = await findCopyMark(db, 'source')
  if (moved && !isKept && (moved.state === 'finished' || moved.address !== address))
    throw new UserError(
      `this service was moved to ${moved.address}: copy it from there, or run \`godwit copy --unmark-source\` first`,
    )
}

/** Returns false if the service is running. Otherwise locks its data directory; on PostgreSQL there is no lock, so check again later. */
async function lockIfStopped(
  from: DataSettings,
  db: Db,
  stack: AsyncDisposableStack,
): Promise<boolean> {
  if (from.databaseUrl !== undefined) return !(await hasLiveProcess(from, db))
  try {
    stack.defer(lockDataDirectory(from.data))
    return true
  } catch (error) {
    if (error instanceof UserError) return false
    throw error
  }
}

/** Whether a process of a service on PostgreSQL is alive. On SQLite, the lock of the data directory replaces this check. */
async function hasLiveProcess({ databaseUrl }: DataSettings, db: Db): Promise<boolean> {
  const since = Date.now() - DEAD_AFTER_MS
  return databaseUrl !== undefined && (await listProcesses(db)).some(({ seenAt }) => seenAt > since)
}

const realDirectory = ({ data }: DataSettings): string =>
  existsSync(data) ? realpathSync(data) : data

const databaseAddress = ({ databaseUrl, data }: DataSettings): string =>
  databaseUrl === undefined ? data : withoutPassword(databaseUrl)

/** Names the target without passwords. */
export function addressOf({ database, blobs }: Pick<CopyRequest, 'database' | 'blobs'>): string {
  const isOneDirectory = database && !database.databaseUrl && blobs?.data === database.data
  if (isOneDirectory && !blobs.blobs) return database.data
  return [database && databaseAddress(database), blobs && blobsAddress(blobs)]
    .filter((part) => part !== undefined)
    .join(' and ')
}
