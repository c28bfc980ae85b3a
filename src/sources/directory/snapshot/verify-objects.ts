import { A_DAY, type Git } from '../../../git/git.ts'
import type { Connected, Verified } from '../../snapshot.ts'
import { orDamaged } from '../files/repository-errors.ts'
import type { ScratchRepository } from './snapshot-scratch.ts'

/**
 * Proves that every object the refs reach is there, or throws Damaged with git's own words. That the bytes of those
 * objects are right is checked while `snapshot.entries()` are read; a snapshot is good when both have passed.
 */
export async function verify(
  { repository, wiki }: { repository: ScratchRepository; wiki: ScratchRepository | null },
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
  const { dir, tips, files } = repository
  const objectFiles = files.filter(isObjectFile).map(({ path }) => path)
  const proven = last && holdsAll(objectFiles, last.objectFiles) ? last.tips : []
  const wanted = [...new Set(tips).difference(new Set(proven))]
  if (wanted.length > 0)
    await orDamaged(repository, signal, () =>
      // Names rather than --all: some gits skip, with exit code 0, a ref whose object is missing.
      git.run(['rev-list', '--objects', '--quiet', '--stdin'], {
        dir,
        input: [...wanted, ...proven.map((oid) => `^${oid}`), ''].join('\n'),
        // A commit-graph answers for commits that are gone.
        config: { 'core.commitGraph': 'false' },
        timeoutMs: A_DAY,
        signal,
      }),
    )
  return { tips, objectFiles }
}

function isObjectFile({ kind }: ScratchRepository['files'][number]): boolean {
  return kind === 'pack' || kind === 'idx' || kind === 'loose'
}

function holdsAll(present: readonly string[], needed: readonly string[]): boolean {
  const files = new Set(present)
  return needed.every((path) => files.has(path))
}
