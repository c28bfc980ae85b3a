import { constants, type Stats } from 'node:fs'
import { access, lstat, opendir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { userName } from '../../service/data-owner.ts'
import { dataPathsOf } from '../../service/data-paths.ts'
import type { Config } from '../../settings/config.ts'
import { type CheckResult, failure, firstFew, passed, warning } from './check-result.ts'

/** A look that ends, however much there is. */
const MAX_LOOKED_AT = 50_000
const MAX_MS = 10_000

/** That everything in the data directory is the service's, and can be used by whoever asks. */
export async function* checkOwnership(config: Config): AsyncGenerator<CheckResult> {
  const { data } = config
  const there = await lstat(data).catch(() => undefined)
  if (!there?.isDirectory()) return
  const owner = userName(there.uid)
  const chown = `stop the service, then run \`chown -R ${owner}: ${data}\``
  const { closed, foreign, count, isAll } = await look(data, there.uid)
  const within = `${isAll ? '' : 'the first '}${count} files and directories in ${data}`
  if (closed.length > 0)
    yield failure('ownership', `this user may not use: ${firstFew(closed)}`, chown)
  else if (foreign.length > 0) {
    yield warning('ownership', `not owned by ${owner}: ${firstFew(foreign)}`, chown)
  } else yield passed('ownership', `${owner} owns ${within}`)
  yield* checkGitHome(config, chown)
}

interface Looked {
  /** What this user cannot read, or not write where the service has to. */
  closed: string[]
  /** What belongs to another user than the directory. */
  foreign: string[]
  count: number
  isAll: boolean
}

async function look(root: string, uid: number): Promise<Looked> {
  const found: Looked = { closed: [], foreign: [], count: 0, isAll: true }
  const endsAt = performance.now() + MAX_MS
  const waiting = [root]
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    // What cannot be opened was told of where it was found.
    const entries = await opendir(folder).catch(() => [])
    for await (const { name } of entries) {
      if (found.count >= MAX_LOOKED_AT || performance.now() > endsAt)
        return { ...found, isAll: false }
      const path = join(folder, name)
      const about = await lstat(path).catch(() => undefined)
      // A service that runs takes away what it no longer needs.
      if (!about) continue
      found.count += 1
      const shown = `${relative(root, path)} (${userName(about.uid)})`
      if (!(await isUsable(path, about))) found.closed.push(shown)
      else if (about.uid !== uid) found.foreign.push(shown)
      if (about.isDirectory()) waiting.push(path)
    }
  }
  return found
}

const { R_OK, W_OK, X_OK } = constants

/** Directories are written to, and the database; bytes that were stored are only read. */
async function isUsable(path: string, about: Stats): Promise<boolean> {
  if (about.isSymbolicLink()) return true
  const isDatabase = /\.(sqlite(-wal|-shm)?|lock)$/.test(path)
  const mode = about.isDirectory() ? R_OK | W_OK | X_OK : isDatabase ? R_OK | W_OK : R_OK
  return access(path, mode).then(
    () => true,
    () =>
      lstat(path).then(
        () => false,
        () => true,
      ),
  )
}

/** Git is given a home of its own, where it finds nobody's settings; a git that cannot enter it does not run. */
async function* checkGitHome(config: Config, advice: string): AsyncGenerator<CheckResult> {
  const { home } = dataPathsOf(config, '').git
  const there = await lstat(home).catch(() => undefined)
  if (!there) return
  const isUsableHome = there.isDirectory() && (await isUsable(home, there))
  if (isUsableHome) yield passed('git-home', `${home}, writable`)
  else yield failure('git-home', `${home} cannot be written`, advice)
}
