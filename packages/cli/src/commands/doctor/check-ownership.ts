import { constants, type Stats } from 'node:fs'
import { access, lstat, opendir, realpath } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { hasCode } from '@godwit/lib/errno'
import { userName } from '@godwit/server/service/data-owner'
import { gitHomeOf } from '@godwit/server/service/data-paths'
import type { ServiceConfig } from '../service-settings.ts'
import { type CheckResult, failure, firstFew, passed, warning } from './check-result.ts'

/** Limits of the scan, for large directories. */
const MAX_ENTRIES = 50_000
const SCAN_TIMEOUT_MS = 10_000

/** Checks that the owner of the data directory owns everything in it, and that this user can use it. */
export async function* checkOwnership(config: ServiceConfig): AsyncGenerator<CheckResult> {
  // --data may be a symbolic link, which `chown -R` would not follow.
  const data = await realpath(config.data).catch(() => config.data)
  const directory = await lstat(data).catch(() => undefined)
  if (!directory?.isDirectory()) return
  const owner = userName(directory.uid)
  const chown = `stop the service, then run \`chown -R ${owner}: ${data}\``
  const { unusable, foreign, count, isComplete } = await scan(data, directory.uid)
  const within = `${isComplete ? '' : 'the first '}${count} files and directories in ${data}`
  if (unusable.length > 0)
    yield failure('ownership', `this user may not use: ${firstFew(unusable)}`, chown)
  else if (foreign.length > 0) {
    yield warning('ownership', `not owned by ${owner}: ${firstFew(foreign)}`, chown)
  } else yield passed('ownership', `${owner} owns ${within}`)
  yield* checkGitHome(config, chown)
}

/**
 * Finds entries that this user cannot read, or cannot write although the service has to, and entries that the owner of the directory
 * does not own.
 */
async function scan(root: string, uid: number) {
  const [unusable, foreign]: [string[], string[]] = [[], []]
  const found = { unusable, foreign, count: 0, isComplete: true }
  const endsAt = performance.now() + SCAN_TIMEOUT_MS
  const waiting = [root]
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    // An unreadable directory is already in `unusable`.
    const entries = await opendir(folder).catch(() => [])
    for await (const { name } of entries) {
      if (found.count >= MAX_ENTRIES || performance.now() > endsAt)
        return { ...found, isComplete: false }
      const path = join(folder, name)
      const stats = await lstat(path).catch(() => undefined)
      // A running service may have removed the entry in the meantime.
      if (!stats) continue
      found.count += 1
      const shown = `${relative(root, path)} (${userName(stats.uid)})`
      if (!(await isUsable(path, stats))) found.unusable.push(shown)
      else if (stats.uid !== uid) found.foreign.push(shown)
      if (stats.isDirectory()) waiting.push(path)
    }
  }
  return found
}

const { R_OK, W_OK, X_OK } = constants

/** The service writes to directories, the database and lock files. It only reads stored blobs. */
async function isUsable(path: string, stats: Stats): Promise<boolean> {
  if (stats.isSymbolicLink()) return true
  const isWritten = /\.(sqlite(-wal|-shm)?|lock)$/.test(path)
  const mode = stats.isDirectory() ? R_OK | W_OK | X_OK : isWritten ? R_OK | W_OK : R_OK
  const error = await access(path, mode).catch((error: unknown) => error)
  // Other errors do not depend on the user: the entry was removed meanwhile, or the file system is read-only, which `data` reports.
  return !hasCode(error, 'EACCES', 'EPERM')
}

/** Git runs with a HOME of its own, so that it reads no user's settings. It fails if it cannot enter that directory. */
async function* checkGitHome(config: ServiceConfig, advice: string): AsyncGenerator<CheckResult> {
  const home = gitHomeOf(config)
  const stats = await lstat(home).catch(() => undefined)
  if (!stats) return
  if (stats.isDirectory() && (await isUsable(home, stats)))
    yield passed('git-home', `${home}, permissions are correct`)
  else yield failure('git-home', `${home} cannot be written`, advice)
}
