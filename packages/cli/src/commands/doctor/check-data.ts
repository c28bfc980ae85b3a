import { existsSync, type StatsFs } from 'node:fs'
import { link, open, rename, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { nearestExisting } from '@godwit/archive/formats/output'
import { describeDiskFailure } from '@godwit/lib/disk-errors'
import { formatBytes, formatCount, formatDuration } from '@godwit/lib/quantities'
import { describeMove } from '@godwit/server/db/copy-marks'
import {
  findCopyMarks,
  findSigningKey,
  inspectStoredData,
  listProcesses,
} from '@godwit/server/db/inspect-database'
import { ownerKeyOf } from '@godwit/server/exporter/blob-store-owner'
import { storedLength } from '@godwit/server/exporter/read-digest'
import { blobsAddress, blobsOf, openBlobs } from '@godwit/server/service/data-paths'
import { markerFolder, NOT_SHARED, processesWithoutMarker } from '@godwit/server/service/heartbeat'
import type { ServiceConfig } from '../service-settings.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { databaseOf } from './check-database.ts'
import { type CheckResult, errorText, failure, firstFew, passed, warning } from './check-result.ts'

const MEBIBYTE = 1024 * 1024
const LOW_SPACE = { bytes: 1024 * MEBIBYTE, inodes: 10_000 }
const MIN_SPACE = { bytes: 100 * MEBIBYTE, inodes: 500 }

const ALLOW_WRITING = 'let the user that runs Godwit write to it, or set another --data'
const CREATE_DIRECTORY = 'create the directory for the user that runs Godwit, or set another --data'
const FREE_SPACE = 'free some space or repair the disk, or set another --data'
const USE_LOCAL_DISK = 'put --data on a local disk, or use --database-url'

export async function* checkData({
  data,
  databaseUrl,
}: ServiceConfig): AsyncGenerator<CheckResult> {
  const existing = nearestExisting(data)
  if (!(await stat(existing)).isDirectory()) {
    const advice = 'move the file, or set another --data'
    return yield failure('data', `${data}: ${existing} is not a directory`, advice)
  }
  try {
    await tryWriting(existing)
  } catch (error) {
    const found = `${data} cannot be written: ${errorText(error)}`
    const advice = existing === data ? ALLOW_WRITING : CREATE_DIRECTORY
    return yield failure('data', found, describeDiskFailure(error) ? FREE_SPACE : advice)
  }
  yield existing === data
    ? await checkPrivacy(data)
    : passed('data', `${data}, will be created at the first start`)
  yield checkFreeSpace(await statfs(existing))
  yield await checkFilesystem(existing, databaseUrl !== undefined)
}

/** Tries what the blob store does: write, flush, link and rename. */
async function tryWriting(directory: string): Promise<void> {
  await using probe = await temporaryDirectory(join(directory, '.godwit-doctor-'))
  const file = join(probe.path, 'file')
  await using handle = await open(file, 'wx')
  await handle.writeFile('probe')
  await handle.sync()
  await link(file, join(probe.path, 'link'))
  await rename(file, join(probe.path, 'renamed'))
  await using folder = await open(probe.path)
  await folder.sync()
}

async function checkPrivacy(data: string): Promise<CheckResult> {
  const { mode } = await stat(data)
  if ((mode & 0o077) === 0) return passed('data', `${data}, writable`)
  const advice = `chmod 700 ${data}: it contains archives, and the key that signs links to them`
  return warning('data', `${data}, writable, can be read by other users`, advice)
}

export function checkFreeSpace(
  stats: Pick<StatsFs, 'bavail' | 'bsize' | 'files' | 'ffree'>,
): CheckResult {
  const { bavail, bsize, files: inodes, ffree: freeInodes } = stats
  const bytes = bavail * bsize
  // Filesystems without a fixed number of inodes report 0.
  const hasInodes = inodes > 0
  const isBelow = (limit: typeof LOW_SPACE) =>
    bytes < limit.bytes || (hasInodes && freeInodes < limit.inodes)
  const found = `${formatBytes(bytes)}${hasInodes ? ` and ${freeInodes} inodes` : ''} free`
  if (!isBelow(LOW_SPACE)) return passed('disk space', found)
  const report = isBelow(MIN_SPACE) ? failure : warning
  const advice = 'free some space: an archive needs about the size of its repositories'
  return report('disk space', found, advice)
}

/** Filesystems by their `f_type`, see statfs(2). */
const FILESYSTEMS: Readonly<Record<number, { name: string; is: 'remote' | 'volatile' }>> = {
  26985: { name: 'NFS', is: 'remote' },
  4283649346: { name: 'CIFS', is: 'remote' },
  4266872130: { name: 'SMB', is: 'remote' },
  1702057286: { name: 'FUSE', is: 'remote' },
  16914839: { name: '9p', is: 'remote' },
  16914836: { name: 'tmpfs', is: 'volatile' },
  2240043254: { name: 'ramfs', is: 'volatile' },
  2035054128: { name: 'overlay', is: 'volatile' },
}

async function checkFilesystem(directory: string, usesPostgres: boolean): Promise<CheckResult> {
  const kind = FILESYSTEMS[(await statfs(directory)).type]
  if (!usesPostgres) {
    try {
      await tryLocking(directory)
    } catch (error) {
      const found = `SQLite does not work here: ${errorText(error)}`
      return failure('filesystem', found, describeDiskFailure(error) ? FREE_SPACE : USE_LOCAL_DISK)
    }
  }
  if (kind?.is === 'volatile') {
    const found = `${kind.name}: all data is lost when the machine or container restarts`
    const advice = 'put --data on a disk or a volume, unless this is only a test'
    return warning('filesystem', found, advice)
  }
  if (kind?.is === 'remote' && !usesPostgres) {
    const found = `${kind.name}: file locks may not work, and SQLite needs them`
    return warning('filesystem', found, USE_LOCAL_DISK)
  }
  return passed('filesystem', usesPostgres ? 'flush and links work' : 'flush, links and locks work')
}

/** Creates a test database: it fails on a filesystem without locks or shared memory. */
async function tryLocking(directory: string): Promise<void> {
  await using probe = await temporaryDirectory(join(directory, '.godwit-doctor-'))
  using database = new DatabaseSync(join(probe.path, 'probe.sqlite'))
  const [mode] = database.prepare('pragma journal_mode = wal').all()
  if (mode?.journal_mode !== 'wal') throw new Error('no shared memory for its write-ahead log')
  database.exec('begin exclusive; create table probe (a); commit')
}

/** Reports a service that `godwit copy` has moved: its commands refuse to run. */
export async function* checkMoved(config: ServiceConfig): AsyncGenerator<CheckResult> {
  // checkDatabase reports a database that cannot be read.
  const marks = await findCopyMarks(databaseOf(config)).catch(() => [])
  const move = describeMove(marks, blobsAddress(config))
  if (move) yield failure('moved', move.found, move.advice)
}

/** Checks that all processes of a shared database keep archives in the same directory. */
export async function* checkSharedData(config: ServiceConfig): AsyncGenerator<CheckResult> {
  const folder = markerFolder(blobsOf(config))
  if (config.databaseUrl === undefined || folder === undefined) return
  // checkDatabase reports a database that cannot be read.
  const processes = await listProcesses(config.databaseUrl).catch(() => [])
  const missing = await processesWithoutMarker(folder, processes, Date.now())
  if (missing.length > 0) {
    const names = missing.map(({ host, pid, role }) => `${role} ${pid} at ${host}`)
    const advice = `mount one directory at ${config.data} for all processes, or use a bucket (--blobs)`
    yield failure('shared data', `${NOT_SHARED}: ${firstFew(names)}`, advice)
  } else if (processes.length > 0)
    yield passed('shared data', `${config.data} is shared by all running processes`)
}

/** Reports the result and age of the checks that the service makes of stored data, without reading that data. */
export async function* checkStoredData(config: ServiceConfig): AsyncGenerator<CheckResult> {
  // checkDatabase reports a database that cannot be read.
  const inspection = await inspectStoredData(databaseOf(config)).catch(() => undefined)
  if (!inspection || inspection.segments === 0) return
  const { segments, damaged, oldestCheckAt } = inspection
  // checkData and checkBucket report a store that cannot be read.
  if (!(await isOwnStore(config).catch(() => true))) {
    const found = `${formatCount(segments, 'stored segment')} should be in ${blobsAddress(config)}, but it is empty or the store of another database`
    const advice =
      'check --data, --blobs and its mount; if what was stored is lost for good, run `godwit check --store --lost`'
    return yield failure('stored data', found, advice)
  }
  const age = Math.max(0, Date.now() - oldestCheckAt)
  const checked = `the oldest check is ${formatDuration(age / 1000)} old`
  if (damaged > 0) {
    const found = `${damaged} of ${formatCount(segments, 'stored segment')} ${damaged === 1 ? 'is' : 'are'} damaged; ${checked}`
    const advice = '`godwit check --store` names the archives; start their migrations again'
    yield warning('stored data', found, advice)
  } else if (age > 2 * config.segmentCheckAge) {
    const advice =
      'run `godwit check --store`, or set a longer --segment-check-age: the service checks at most 2.6 TB a week'
    yield warning('stored data', `${formatCount(segments, 'segment')}, ${checked}`, advice)
  } else
    yield passed('stored data', `${formatCount(segments, 'segment')}, none damaged; ${checked}`)
}

/** Whether the store has the owner mark of the database. */
async function isOwnStore(config: ServiceConfig): Promise<boolean> {
  const id = await findSigningKey(databaseOf(config), 'store')
  const blobs = blobsOf(config)
  // Opening a missing directory would create it.
  if (id === undefined || (typeof blobs === 'string' && !existsSync(blobs))) return false
  return (await storedLength(await openBlobs(blobs), ownerKeyOf(id))) !== undefined
}
