import type { Git } from '../../../git/git.ts'
import { readTree, type TreeFacts } from './head-tree.ts'
import { listRefs, oldestRoot, type RefFacts, type RepositoryCall } from './repository-refs.ts'

/** What is to be found out besides what the refs tell. */
export interface Wanted {
  /** When the first commit was made. */
  birthday: boolean
  isTreeWanted(headCommit: string): boolean
}

/** What refs, history and the tree of a repository tell. */
export interface GitFacts {
  refs: RefFacts
  /** Null where it was not wanted or nothing tells. */
  oldest: number | null
  tree: TreeFacts | null
}

/** By a process for each question: whatever the repository, however large, and in git's own words where it is broken. */
export async function readFactsWithGit(
  git: Git,
  call: RepositoryCall,
  wanted: Wanted,
): Promise<GitFacts> {
  const refs = await listRefs(git, call)
  const oldest = wanted.birthday ? await oldestRoot(git, call) : null
  const head = refs.headCommit
  const isRead = head !== null && wanted.isTreeWanted(head)
  return { refs, oldest, tree: isRead ? await readTree(git, head, call) : null }
}
