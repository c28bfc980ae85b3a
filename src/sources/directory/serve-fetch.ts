import { join } from 'node:path'
import { A_DAY, type Git, type RunningGit } from '../../git/git.ts'
import type { ServedFetch } from '../source.ts'
import { Unreadable } from '../unreadable.ts'
import { lstatIfThere } from './files/prompt-files.ts'
import { refuseForeignRefs } from './files/read-refs.ts'
import { Unsupported } from './files/repository-errors.ts'
import { refuseOtherPlaces } from './files/repository-format.ts'
import { isThere, type RepositoryPlace } from './repository-place.ts'

/** What git reads at every start, where a link could lead to any file of this machine and a pipe would hold it for ever. */
const OWN_FILES = ['config', 'config.worktree', 'packed-refs', 'shallow', 'objects/info/alternates']

/**
 * Heeds what the repository's config says of fetches (hidden refs, filters) and starts no program that it names: git takes
 * `uploadpack.packObjectsHook` from its user's own config alone, and here that is ours.
 */
export async function serveFetch(
  git: Git,
  place: RepositoryPlace,
  { answer, protocolVersion, ofWiki, signal }: ServedFetch,
): Promise<RunningGit> {
  const { owner, name, dir, wikiDir } = place
  const fullName = `${owner}/${name}${ofWiki ? '.wiki' : ''}`
  const served = ofWiki ? wikiDir : dir
  if (!served || !(await isThere(place, served)))
    throw new Unreadable(`${fullName}: the repository no longer exists`)
  await refuseElsewhere({ dir: served, name: fullName })
  const part = answer === 'advertisement' ? ['--advertise-refs'] : []
  return git.start(['upload-pack', '--strict', '--stateless-rpc', ...part, served], {
    protocolVersion,
    signal,
    // A client may have a slow line; one that takes nothing at all is cut off elsewhere.
    timeoutMs: A_DAY,
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
