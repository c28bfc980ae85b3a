import type { Git } from '../../../git/git.ts'
import { GitFailed } from '../../../git/git-end.ts'

const A_DAY = 86_400_000

/**
 * When the newest of the commits that refs name was made, in seconds since 1970. It follows from the content alone, so
 * that the same repository gives the same bytes. Undefined where there is none, or where a ref leads to no good object:
 * whoever proves the snapshot says so better.
 */
export async function newestCommit(
  { dir, tips }: { dir: string; tips: readonly string[] },
  git: Git,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (tips.length === 0) return undefined
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
