import { type Git, LONG_TIMEOUT_MS } from '../../../git/git.ts'
import { GitFailed } from '../../../git/git-process.ts'
import { codeOf } from '../../../lib/errno.ts'
import type { ObjectFormat } from '../../snapshot.ts'
import { type ObjectFiles, openObjectFiles, parseCommit, parseTag } from '../files/read-objects.ts'
import { NeedsGit } from '../files/repository-errors.ts'

interface Tips {
  dir: string
  objectFormat: ObjectFormat
  /** The objects that refs name. */
  tips: readonly string[]
}

/**
 * Returns the time of the newest commit that a ref names, in seconds since 1970. It depends on the content alone, so that the same
 * repository gives the same bytes. Returns undefined if there is no commit, or a tip is missing or damaged: `verify` reports that
 * with a better message. For a small repository, reading the files takes 1 ms of CPU time and git 7 ms, a third of its export.
 */
export async function newestCommit(
  tips: Tips,
  git: Git,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (tips.tips.length === 0) return undefined
  signal.throwIfAborted()
  try {
    using objects = await openObjectFiles(tips.dir, tips.objectFormat)
    return await findNewest(objects, tips.tips)
  } catch (error) {
    if (!(error instanceof NeedsGit) && codeOf(error) === undefined) throw error
    return readWithGit(tips, git, signal)
  }
}

/** If there are more tips, git reads them. */
const MAX_TIPS = 1000
const MAX_TAG_CHAIN = 5

/** Throws NeedsGit. */
export async function findNewest(
  objects: ObjectFiles,
  tips: readonly string[],
): Promise<string | undefined> {
  if (tips.length > MAX_TIPS) throw new NeedsGit('very many refs')
  let newest: number | undefined
  let wanted = [...tips]
  for (let steps = 0; wanted.length > 0; steps++) {
    if (steps > MAX_TAG_CHAIN) throw new NeedsGit('a long chain of tags')
    const next: string[] = []
    for (const object of await objects.read(wanted)) {
      if (object.type === 'tag') next.push(parseTag(object).object)
      if (object.type !== 'commit') continue
      newest = Math.max(newest ?? 0, Number(parseCommit(object).committed))
    }
    wanted = next
  }
  return newest === undefined ? undefined : String(newest)
}

async function readWithGit({ dir, tips }: Tips, git: Git, signal: AbortSignal) {
  const args = ['rev-list', '--no-walk=sorted', '--max-count=1', '--format=%ct', '--stdin']
  try {
    const input = `${tips.join('\n')}\n`
    const config = { 'core.commitGraph': 'false' }
    const output = await git.text(args, { dir, input, config, timeoutMs: LONG_TIMEOUT_MS, signal })
    return /^\d+$/m.exec(output)?.[0]
  } catch (error) {
    if (error instanceof GitFailed && error.exitCode !== null) return undefined
    throw error
  }
}
