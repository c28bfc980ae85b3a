import { dirname, join } from 'node:path'
import type { Git, RunningGit } from '../../git/git.ts'
import type { ServedFetch } from '../source.ts'
import { Unreadable } from '../unreadable.ts'
import { lstatIfThere } from './prompt-files.ts'
import { isDirectory, isRepository, type RepositoryPlace } from './repository-place.ts'
import { refuseOtherPlaces } from './snapshot/examine-kind.ts'
import { refuseForeignRefs } from './snapshot/examine-refs.ts'
import { Unsupported } from './snapshot/snapshot-errors.ts'

/** A client may have a slow line and a large repository; one that takes nothing at all is cut off elsewhere. */
const LONGEST_MS = 24 * 3_600_000

/** What git reads at every start, where a link could lead to any file of this machine and a pipe would hold it for ever. */
const OWN_FILES = ['config', 'config.worktree', 'packed-refs', 'shallow', 'objects/info/alternates']

/**
 * Heeds what the repository's config says of fetches (hidden refs, filters) and starts no program that it names: git takes
 * `uploadpack.packObjectsHook` from its user's own config alone, and here that is ours.
 */
export async function serveFetch(
  git: Git,
  { owner, name, dir, wikiDir }: RepositoryPlace,
  { answer, protocolVersion, ofWiki, signal }: ServedFetch,
): Promise<RunningGit> {
  const fullName = `${owner}/${name}${ofWiki ? '.wiki' : ''}`
  const served = ofWiki ? wikiDir : dir
  const isThere = served && (await isDirectory(dirname(dir))) && (await isRepository(served))
  if (!isThere) throw new Unreadable(`${fullName}: the repository no longer exists`)
  await refuseElsewhere({ dir: served, name: fullName })
  const part = answer === 'advertisement' ? ['--advertise-refs'] : []
  return git.start(['upload-pack', '--strict', '--stateless-rpc', ...part, served], {
    protocolVersion,
    signal,
    timeoutMs: LONGEST_MS,
    yields: true,
    // It would tell every client of the graft file that hides none.
    config: { 'advice.graftFileDeprecated': 'false' },
  })
}

/** The same rules as for an export: nothing of somebody else is shown under this name. */
async function refuseElsewhere(at: { dir: string; name: string }): Promise<void> {
  await refuseOtherPlaces(at)
  await refuseForeignRefs(at)
  for (const path of OWN_FILES) {
    const there = await lstatIfThere(join(at.dir, path))
    if (there && !there.isFile()) throw new Unsupported(at.name, `${path} is not a file of its own`)
  }
}
