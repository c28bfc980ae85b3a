import { A_DAY, type Git } from '../../../git/git.ts'
import { GitFailed } from '../../../git/git-end.ts'
import { codeOf } from '../../../lib/errno.ts'
import type { ObjectFormat } from '../../snapshot.ts'
import { NeedsGit } from '../files/object-reader.ts'
import { parseCommit, parseTag } from '../files/parse-objects.ts'
import { openPlainObjects } from '../files/plain-objects.ts'

interface Named {
  dir: string
  objectFormat: ObjectFormat
  /** Every object that a ref names. */
  tips: readonly string[]
}

/**
 * When the newest of the commits that refs name was made, in seconds since 1970. It follows from the content alone, so
 * that the same repository gives the same bytes. Undefined where there is none, or where a ref leads to no good object:
 * whoever proves the snapshot says so better.
 */
export async function newestCommit(
  named: Named,
  git: Git,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (named.tips.length === 0) return undefined
  signal.throwIfAborted()
  try {
    return await fromFiles(named)
  } catch (error) {
    if (!(error instanceof NeedsGit) && codeOf(error) === undefined) throw error
    return byGit(named, git, signal)
  }
}

/** More than these are for git to look at. */
const MAX_TIPS = 1000
/** Tags of tags. */
const MAX_STEPS = 5

/** To start git costs more than to look at a few commits. Throws Odd where only git can tell. */
async function fromFiles({ dir, objectFormat, tips }: Named): Promise<string | undefined> {
  if (tips.length > MAX_TIPS) throw new NeedsGit('very many refs')
  await using objects = await openPlainObjects(dir, objectFormat)
  let newest: number | undefined
  let wanted = [...tips]
  for (let steps = 0; wanted.length > 0; steps++) {
    if (steps > MAX_STEPS) throw new NeedsGit('a long chain of tags')
    const next: string[] = []
    for (const object of await objects.read(wanted)) {
      if (!object) throw new NeedsGit('a missing object')
      if (object.type === 'tag') next.push(parseTag(object).object)
      if (object.type !== 'commit') continue
      newest = Math.max(newest ?? 0, Number(parseCommit(object).committed))
    }
    wanted = next
  }
  return newest === undefined ? undefined : String(newest)
}

async function byGit({ dir, tips }: Named, git: Git, signal: AbortSignal) {
  const asked = ['rev-list', '--no-walk=sorted', '--max-count=1', '--format=%ct', '--stdin']
  try {
    const input = `${tips.join('\n')}\n`
    const config = { 'core.commitGraph': 'false' }
    const said = await git.text(asked, { dir, input, config, timeoutMs: A_DAY, signal })
    return /^\d+$/m.exec(said)?.[0]
  } catch (error) {
    if (error instanceof GitFailed && error.exitCode !== null) return undefined
    throw error
  }
}
