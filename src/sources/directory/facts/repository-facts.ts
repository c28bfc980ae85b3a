import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git } from '../../../git/git.ts'
import { ifExists } from '../../../lib/errno.ts'
import { oneLine } from '../../../lib/one-line.ts'
import { publicUrl, webPage } from '../../../lib/public-url.ts'
import { describedBy, LONGEST_DESCRIPTION } from '../../description.ts'
import { type KnownFacts, type SourceFacts, USUAL_FACTS } from '../../source.ts'
import { Unreadable } from '../../unreadable.ts'
import { readSmallFile } from '../files/own-file.ts'
import {
  flag,
  includesOthers,
  readSettings,
  type Settings,
  setting,
  tryIncludes,
} from '../files/repository-settings.ts'
import {
  COMMON_DIR,
  FILES_OF_GIT,
  FOLDERS_OF_GIT,
  OF_ANOTHER,
  refuseSpecialFiles,
  refuseSpecialSeen,
} from '../files/special-files.ts'
import { inTurns, statsBelow, statsOf } from '../files/sync-fs.ts'
import { readFactsFromFiles } from './facts-from-files.ts'
import { type GitFacts, readFactsWithGit } from './facts-from-git.ts'
import type { Directories } from './repository-stamp.ts'
import { type StatedFacts, statedFacts } from './stated-facts.ts'

/** What holds facts besides refs and objects. */
const FACT_FILES = ['HEAD', 'config', 'description', 'git-daemon-export-ok']

/** No git process for an ordinary repository, one where its files are unusual, and one for each question where all is. */
export async function readRepositoryFacts(
  git: Git,
  { dir, wikiDir }: Directories,
  known?: KnownFacts,
  signal?: AbortSignal,
): Promise<SourceFacts> {
  const call = { dir, ...(signal && { signal }) }
  const directory = await lstat(dir)
  if (!directory.isDirectory()) throw new Unreadable('it no longer exists')
  const sizeKib = await measureOwnFiles(dir)
  // An ordinary repository needs no git that would notice.
  signal?.throwIfAborted()
  const settings = await readSettings(git, dir, signal)
  const beforeGit = () => refuseSpecialFiles({ dir }, { git, signal })
  if (includesOthers(settings)) {
    await beforeGit()
    await tryIncludes(git, dir, signal)
  }
  const stated = statedFacts(settings)
  const wanted = {
    birthday: known === undefined,
    // Where one of the two was stated, what is known may be what was stated.
    isTreeWanted: (head: string) =>
      !isTold(stated) && (isHalfTold(stated) || known?.headCommit !== head),
  }
  let looked = await readFactsFromFiles(git, call, settings, { ...wanted, beforeGit })
  if (!looked) {
    await beforeGit()
    looked = await readFactsWithGit(git, call, wanted)
  }
  const { refs } = looked
  const birth = Math.floor(directory.birthtimeMs || directory.mtimeMs)
  const createdAt = known?.createdAt ?? looked.oldest ?? birth
  const pushedAt = refs.newest ?? createdAt
  const files = await statsOf(FACT_FILES.map((name) => join(dir, name)))

  return {
    description: await readDescription(dir, settings),
    homepage: webPage(setting(settings, 'gitweb.url') ?? ''),
    private: !files.some(({ path }) => path.endsWith('git-daemon-export-ok')),
    defaultBranch: refs.defaultBranch,
    sizeKib,
    createdAt,
    pushedAt,
    updatedAt: Math.max(pushedAt, ...files.map(({ stats }) => Number(stats.mtimeMs))),
    ...treeFacts(looked, stated, known),
    ...USUAL_FACTS,
    hasWiki: wikiDir !== null,
    mirrorOf: mirrorOf(settings),
    ...denialsOf(settings),
    ...stated,
  }
}

/** What gitweb and cgit show: the file, unless it is as `git init` left it, else `gitweb.description`. */
async function readDescription(dir: string, settings: Settings): Promise<string> {
  const read = readSmallFile(join(dir, 'description'), LONGEST_DESCRIPTION)
  // There may be none, or a link, which could lead to any file of this machine, or no file at all.
  const file = await ifExists(read, 'ENOENT', 'ELOOP', 'EISDIR')
  return (file && describedBy(file)) || oneLine(setting(settings, 'gitweb.description') ?? '')
}

/** Both facts that a tree tells were stated: no need to read it. */
const isTold = ({ language, license }: StatedFacts): boolean => Boolean(language && license)
const isHalfTold = ({ language, license }: StatedFacts): boolean => Boolean(language || license)

function treeFacts(
  { refs, tree }: GitFacts,
  stated: StatedFacts,
  known?: KnownFacts,
): Pick<SourceFacts, 'headCommit' | 'language' | 'license'> {
  const nothing = { headCommit: null, language: null, license: null }
  if (refs.headCommit === null || isTold(stated)) return nothing
  if (isHalfTold(stated)) return { ...nothing, ...tree }
  const { language, license } = tree ?? known ?? nothing
  return { headCommit: refs.headCommit, language, license }
}

/** What it refuses of every push, whoever makes it. */
function denialsOf(settings: Settings): Pick<SourceFacts, 'denies'> {
  const denies: SourceFacts['denies'] = []
  if (flag(settings, 'receive.denynonfastforwards') === true) denies.push('nonFastForwards')
  if (flag(settings, 'receive.denydeletes') === true) denies.push('deletes')
  return denies.length > 0 ? { denies } : {}
}

/** A remote that is fetched from as a mirror; one that is only pushed to is a mirror of this repository instead. */
function mirrorOf(settings: Settings): string | null {
  for (const key of settings.keys()) {
    const remote = /^(remote\..+)\.mirror$/s.exec(key)?.[1]
    if (remote === undefined || flag(settings, key) !== true) continue
    const url = settings.get(`${remote}.url`)?.[0]
    if (url && settings.has(`${remote}.fetch`)) return publicUrl(url)
  }
  return null
}

/** What counts as the size of a repository: it is as large on any disk, and an empty one has no size. */
const MEASURED = ['objects', 'lfs']

/** The bytes of objects and of large files, in KiB. What can be exported from no repository is refused on the way. */
async function measureOwnFiles(dir: string): Promise<number> {
  let bytes = 0n
  for (const part of MEASURED)
    await inTurns(statsBelow(join(dir, part)), (seen) => {
      refuseSpecialSeen(dir, seen)
      if (seen.stats.isFile()) bytes += seen.stats.size
    })
  for (const part of FOLDERS_OF_GIT)
    await inTurns(statsBelow(join(dir, part)), (seen) => refuseSpecialSeen(dir, seen))
  const files = [...FILES_OF_GIT, COMMON_DIR].map((name) => join(dir, name))
  for (const seen of await statsOf(files)) {
    if (seen.path.endsWith(`/${COMMON_DIR}`)) throw new Unreadable(OF_ANOTHER)
    refuseSpecialSeen(dir, seen)
  }
  return Number((bytes + 1023n) / 1024n)
}
