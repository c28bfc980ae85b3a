import { branchRef, type OidsByRef } from '@godwit/git/commits-and-refs'
import type { PullRequest } from '../records/pull-request.ts'

export interface PullHead {
  number: number
  /** The head commit; empty if the archive does not contain it. */
  sha: string
  /** The name of its branch in the output, which has no forks. */
  branch: string
}

type HeadDetails = Pick<PullRequest, 'number' | 'head' | 'closedAt' | 'mergedAt' | 'repository'>

/**
 * Plans `refs/pull/N/head` for every head that exists. An existing ref takes precedence over the record, so that commits which were
 * pushed after the record was read are not lost. An open pull request also needs a branch. If it came from a fork, the branch is
 * `owner/branch`, as in the server's own dumps. Returns the heads by number, the commits of the refs to create, and the heads whose
 * record and ref name different commits that both exist (`moved`).
 */
export function planHeads(pulls: Iterable<HeadDetails>, refs: OidsByRef, commits: Set<string>) {
  const [heads, create] = [new Map<number, PullHead>(), new Map<string, string>()]
  const moved: PullHead[] = []
  const names = branchNames(refs)
  for (const { number, head, closedAt, mergedAt, repository } of pulls) {
    const ref = `refs/pull/${number}/head`
    const sha = refs.get(ref) ?? (commits.has(head.sha) ? head.sha : '')
    if (sha !== '' && !refs.has(ref)) create.set(ref, sha)
    const isOpen = closedAt === null && mergedAt === null
    const isFromFork = head.repository?.toLowerCase() !== repository.toLowerCase()
    const wanted = isFromFork ? `${head.owner ?? 'ghost'}/${head.ref}` : head.ref
    // A head from a fork must not get the name of an unrelated branch: deleting it after the merge would delete that branch.
    const isUsable = (name: string) => {
      const existing = names.get(branchRef(name))
      if (existing !== undefined) return !isFromFork || existing === sha
      return (!isFromFork && !isOpen) || (isValidBranch(name) && names.isFree(branchRef(name)))
    }
    const fallbacks = [`pull-${number}`, `pull-${number}-head`, `pull-${number}-${sha || 'lost'}`]
    const branch = [wanted, ...fallbacks].find(isUsable) ?? fallbacks.at(-1)!
    if (isOpen && sha !== '' && names.get(branchRef(branch)) === undefined) {
      create.set(branchRef(branch), sha)
      names.add(branchRef(branch), sha)
    }
    const planned = { number, sha, branch }
    heads.set(number, planned)
    if (sha !== head.sha && commits.has(head.sha)) moved.push(planned)
  }
  return { heads, create, moved }
}

/** Tracks which names of branches are taken. In git, `a` and `a/b` cannot both exist. */
function branchNames(refs: OidsByRef) {
  const [names, folders] = [new Map<string, string>(), new Set<string>()]
  const prefixes = (ref: string): string[] =>
    ref.split('/').map((_, n, parts) => parts.slice(0, n + 1).join('/'))
  const add = (ref: string, sha: string) => {
    names.set(ref, sha)
    for (const folder of prefixes(ref).slice(0, -1)) folders.add(folder)
  }
  for (const [ref, sha] of refs) if (ref.startsWith('refs/heads/')) add(ref, sha)
  return {
    add,
    get: (ref: string) => names.get(ref),
    isFree: (ref: string) => !folders.has(ref) && !prefixes(ref).some((part) => names.has(part)),
  }
}

/** Accepts only names that are certainly valid in git. */
function isValidBranch(name: string): boolean {
  return /^[\w.+/=-]+$/.test(name) && !/\.\.|\/\/|\/\.|\.\/|\.lock(?:\/|$)|^[-/.]|[/.]$/.test(name)
}
