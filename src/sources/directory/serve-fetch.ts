import { type BigIntStats, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { A_DAY, type Git, type RunningGit } from '../../git/git.ts'
import type { ServedFetch } from '../source.ts'
import { Unreadable } from '../unreadable.ts'
import { refuseForeignRefs } from './files/read-refs.ts'
import { readText } from './files/read-text.ts'
import { Unsupported } from './files/repository-errors.ts'
import { refuseExternalPaths } from './files/repository-format.ts'
import { type ConfigReader, flag, readSettingsIn, setting } from './files/repository-settings.ts'
import { refuseSpecialFiles } from './files/special-files.ts'
import { inTurns, lstatIfThere, statsBelow } from './files/sync-fs.ts'
import { isThere, type RepositoryDirectory } from './repository-directory.ts'

/** Git reads these at every start; a link could lead to any file of this machine. */
const OWN_FILES = [
  ...['config', 'config.worktree', 'packed-refs', 'shallow', 'objects/info/alternates'],
  'info/attributes',
]

/** A git that waits for what is not there does nothing; one with much to read does. */
const FIRST_BYTE_TIMEOUT_MS = 30_000

/**
 * Heeds what the repository's config says of fetches (hidden refs, filters) and starts no program that it names: git takes
 * `uploadpack.packObjectsHook` from its user's own config alone, and here that is ours.
 */
export async function serveFetch(
  git: Git,
  place: RepositoryDirectory,
  { answer, protocolVersion, ofWiki, signal }: ServedFetch,
): Promise<RunningGit> {
  const { owner, name, dir, wikiDir } = place
  const fullName = `${owner}/${name}${ofWiki ? '.wiki' : ''}`
  const served = ofWiki ? wikiDir : dir
  if (!served || !(await isThere(place, served)))
    throw new Unreadable(`${fullName}: the repository no longer exists`)
  await refuseElsewhere({ dir: served, name: fullName }, { git, signal })
  const part = answer === 'advertisement' ? ['--advertise-refs'] : []
  return git.start(['upload-pack', '--strict', '--stateless-rpc', ...part, served], {
    protocolVersion,
    signal,
    // A client may have a slow line; one that takes nothing at all is cut off elsewhere.
    timeoutMs: A_DAY,
    firstByteTimeoutMs: FIRST_BYTE_TIMEOUT_MS,
    yields: true,
    // It would tell every client of the graft file that hides none.
    config: { 'advice.graftFileDeprecated': 'false' },
  })
}

/** The same rules as for an export: nothing of somebody else is shown under this name. */
async function refuseElsewhere(at: At, reader: ConfigReader): Promise<void> {
  await refuseExternalPaths(at)
  await refuseForeignRefs(at)
  for (const path of OWN_FILES) {
    const there = await lstatIfThere(join(at.dir, path))
    if (there && !there.isFile()) throw new Unsupported(at.name, `${path} is not a file of its own`)
  }
  if ((await lstatIfThere(join(at.dir, 'info')))?.isSymbolicLink())
    throw new Unsupported(at.name, 'info is not a directory of its own')
  await refuseSpecialFiles(at, reader)
  await refuseForeignAttributes(at, reader)
}

/**
 * Where the config says that there is a working tree, git looks for `.gitattributes` in it: in the directory of the repository,
 * unless `core.worktree` names another, and in those below, as the paths of the files lead.
 */
async function refuseForeignAttributes(at: At, reader: ConfigReader): Promise<void> {
  for (const file of ['config', 'config.worktree']) {
    const text = (await readText(at, file)) ?? ''
    // So it is with nearly all, and git may be needed to understand more.
    if (!/worktree|bare/i.test(text.replace(/^\s*bare = true$/m, ''))) return
    const settings = await readSettingsIn(join(at.dir, file), reader)
    const isBare = flag(settings, 'core.bare')
    if (isBare !== true && setting(settings, 'core.worktree') !== undefined)
      throw new Unsupported(at.name, 'its config names a working tree (core.worktree)')
    if (isBare !== false) continue
    await inTurns(statsBelow(at.dir), ({ path, stats }) => {
      const isOdd = path.endsWith('/.gitattributes')
        ? !stats.isFile()
        : isLinkToDirectory(path, stats)
      if (isOdd) {
        const shown = relative(at.dir, path)
        throw new Unsupported(at.name, `it is not bare, and ${shown} is a link or no file`)
      }
    })
  }
}

function isLinkToDirectory(path: string, stats: BigIntStats): boolean {
  if (!stats.isSymbolicLink()) return false
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

interface At {
  dir: string
  name: string
}
