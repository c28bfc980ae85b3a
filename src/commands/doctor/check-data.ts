import { link, mkdtemp, open, rename, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describeDiskFailure } from '../../lib/disk-errors.ts'
import { hasCode } from '../../lib/errno.ts'
import { inUnits } from '../../lib/quantities.ts'
import type { Config } from '../../settings/config.ts'
import { type CheckResult, errorText, failure, passed, warning } from './check-result.ts'

const MEBIBYTE = 1024 * 1024
const LITTLE = { bytes: 1024 * MEBIBYTE, files: 10_000 }
const TOO_LITTLE = { bytes: 100 * MEBIBYTE, files: 500 }

const MAKE_IT = 'create the directory for the user that runs Godwit, or set another --data'
const FREE_IT = 'free some space or repair the disk, or set another --data'

export async function* checkData({ data, databaseUrl }: Config): AsyncGenerator<CheckResult> {
  const ground = await nearestExisting(data)
  const isThere = ground === data
  if (!(await stat(ground)).isDirectory()) {
    yield failure('data', `${data}: ${ground} is not a directory`, MAKE_IT)
    return
  }
  try {
    await tryWriting(ground)
  } catch (error) {
    const isOfDisk = describeDiskFailure(error) !== undefined
    yield failure(
      'data',
      `${data} cannot be written: ${errorText(error)}`,
      isOfDisk ? FREE_IT : MAKE_IT,
    )
    return
  }
  yield isThere
    ? await checkPrivacy(data)
    : passed('data', `${data}, will be created at the first start`)
  yield checkFreeSpace(await statfs(ground))
  yield await checkFilesystem(ground, databaseUrl !== undefined)
}

/** The directory, or what is there of the way to it. */
export async function nearestExisting(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    try {
      await stat(at)
      return at
    } catch (error) {
      // A file where a directory should be is found one level up.
      if (!hasCode(error, 'ENOENT', 'ENOTDIR') || at === dirname(at)) throw error
    }
  }
}

/** All that the stores of bytes do: written whole, flushed, linked, renamed. */
async function tryWriting(directory: string): Promise<void> {
  const probe = await mkdtemp(join(directory, '.godwit-doctor-'))
  try {
    const file = join(probe, 'file')
    await using handle = await open(file, 'wx')
    await handle.writeFile('probe')
    await handle.sync()
    await link(file, join(probe, 'link'))
    await rename(file, join(probe, 'renamed'))
    await using folder = await open(probe)
    await folder.sync()
  } finally {
    await rm(probe, { recursive: true, force: true })
  }
}

async function checkPrivacy(data: string): Promise<CheckResult> {
  const { mode } = await stat(data)
  if ((mode & 0o077) === 0) return passed('data', `${data}, writable`)
  const advice = `chmod 700 ${data}: it contains archives, and the key that signs links to them`
  return warning('data', `${data}, writable, can be read by other users`, advice)
}

interface Room {
  bavail: number
  bsize: number
  files: number
  ffree: number
}

export function checkFreeSpace({ bavail, bsize, files, ffree }: Room): CheckResult {
  const bytes = bavail * bsize
  // Some filesystems have no fixed number of files, and say 0 of 0.
  const isCounted = files > 0
  const isBelow = (least: typeof LITTLE) =>
    bytes < least.bytes || (isCounted && ffree < least.files)
  const found = `${inUnits(bytes)}${isCounted ? ` and ${ffree} files` : ''} free`
  if (!isBelow(LITTLE)) return passed('disk space', found)
  const judge = isBelow(TOO_LITTLE) ? failure : warning
  return judge(
    'disk space',
    found,
    'free some space: an archive needs about the size of its repositories',
  )
}

/** By statfs(2). */
const KINDS: Readonly<Record<number, { name: string; is: 'remote' | 'fleeting' }>> = {
  26985: { name: 'NFS', is: 'remote' },
  4283649346: { name: 'CIFS', is: 'remote' },
  4266872130: { name: 'SMB', is: 'remote' },
  1702057286: { name: 'FUSE', is: 'remote' },
  16914839: { name: '9p', is: 'remote' },
  16914836: { name: 'tmpfs', is: 'fleeting' },
  2240043254: { name: 'ramfs', is: 'fleeting' },
  2035054128: { name: 'overlay', is: 'fleeting' },
}

async function checkFilesystem(directory: string, isShared: boolean): Promise<CheckResult> {
  const kind = KINDS[(await statfs(directory)).type]
  if (!isShared) {
    try {
      await tryLocking(directory)
    } catch (error) {
      const found = `SQLite does not work here: ${errorText(error)}`
      const advice = describeDiskFailure(error)
        ? FREE_IT
        : 'put --data on a local disk, or use --database-url'
      return failure('filesystem', found, advice)
    }
  }
  if (kind?.is === 'fleeting') {
    const advice = 'put --data on a disk or a volume, unless this is only a test'
    return warning(
      'filesystem',
      `${kind.name}: all data is lost when the machine or container restarts`,
      advice,
    )
  }
  if (kind?.is === 'remote' && !isShared) {
    const advice = 'put --data on a local disk, or use --database-url'
    return warning(
      'filesystem',
      `${kind.name}: file locks may not work, and SQLite needs them`,
      advice,
    )
  }
  return passed('filesystem', isShared ? 'flush and links work' : 'flush, links and locks work')
}

/** A database like ours, apart from ours: a filesystem without locks or shared memory refuses it. */
async function tryLocking(directory: string): Promise<void> {
  const probe = await mkdtemp(join(directory, '.godwit-doctor-'))
  try {
    using database = new DatabaseSync(join(probe, 'probe.sqlite'))
    const [mode] = database.prepare('pragma journal_mode = wal').all()
    if (mode?.journal_mode !== 'wal') throw new Error('no shared memory for its write-ahead log')
    database.exec('begin exclusive; create table probe (a); commit')
  } finally {
    await rm(probe, { recursive: true, force: true })
  }
}
