import type { Git } from '../../../git/git.ts'
import type { Snapshot } from './snapshot.ts'
import { byName } from './snapshot-errors.ts'
import type { ScratchRepository } from './snapshot-scratch.ts'

/** All that these tips reach was found in these files: worth remembering for the next snapshot. */
interface Connected {
  tips: string[]
  objectFiles: string[]
}

export interface Verified {
  repository: Connected
  wiki: Connected | null
}

const A_DAY = 86_400_000

/**
 * Proves that every object the refs reach is there, or throws Damaged with git's own words. That the bytes of those
 * objects are right is checked while `snapshot.entries()` are read; a snapshot is good when both have passed.
 */
export async function verify(
  { repository, wiki }: Snapshot,
  git: Git,
  signal: AbortSignal,
  last?: Verified,
): Promise<Verified> {
  return {
    repository: await connect(repository, git, signal, last?.repository),
    wiki: wiki && (await connect(wiki, git, signal, last?.wiki)),
  }
}

async function connect(
  repository: ScratchRepository,
  git: Git,
  signal: AbortSignal,
  last: Connected | null | undefined,
): Promise<Connected> {
  const { dir, name, tips, files } = repository
  const objectFiles = files.filter(isObjectFile).map(({ path }) => path)
  const proven = last && holdsAll(objectFiles, last.objectFiles) ? last.tips : []
  const wanted = [...new Set(tips).difference(new Set(proven))]
  if (wanted.length > 0)
    await git
      // Names rather than --all: some gits skip, with exit code 0, a ref whose object is missing.
      .run(['rev-list', '--objects', '--quiet', '--stdin'], {
        dir,
        input: [...wanted, ...proven.map((oid) => `^${oid}`), ''].join('\n'),
        // A commit-graph answers for commits that are gone.
        config: { 'core.commitGraph': 'false' },
        timeoutMs: A_DAY,
        signal,
      })
      .catch((error) => {
        signal.throwIfAborted()
        throw byName(name, error, dir)
      })
  return { tips, objectFiles }
}

function isObjectFile({ kind }: ScratchRepository['files'][number]): boolean {
  return kind === 'pack' || kind === 'idx' || kind === 'loose'
}

function holdsAll(present: readonly string[], needed: readonly string[]): boolean {
  const files = new Set(present)
  return needed.every((path) => files.has(path))
}
