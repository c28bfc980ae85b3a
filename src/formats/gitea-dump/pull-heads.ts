import { createWriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Git, LONG_TIMEOUT_MS } from '../../git/git.ts'
import { GitFailed } from '../../git/git-process.ts'
import { withWriteContext } from '../../lib/disk-errors.ts'
import type { PullRequest } from '../../records/pull-request.ts'
import type { Repository } from '../../records/repository.ts'
import type { Refs } from '../../sources/refs.ts'
import type { DumpContext } from './dump-context.ts'

/** Object ids by the name of the ref. Each character of a name is one byte (latin1), because git does not require UTF-8. */
export type OidsByRef = ReadonlyMap<string, string>

export type GitRepository = { git: Git; dir: string; signal: AbortSignal }

export async function readOidsByRef({ git, ...call }: GitRepository): Promise<OidsByRef> {
  const lines = await git.run(['for-each-ref', '--format=%(objectname) %(refname)'], call)
  const refs = lines.toString('latin1').matchAll(/^(\w+) (.+)$/gm)
  return new Map(refs.map(([, oid, ref]) => [ref!, oid!]))
}

/** Points HEAD to the default branch that the record names, if there is such a branch. */
export async function setHead(dir: string, refs: OidsByRef, { defaultBranch }: Repository) {
  const branch = branchRef(defaultBranch ?? '')
  if (refs.has(branch)) await writeFile(join(dir, 'HEAD'), `ref: ${branch}\n`, 'latin1')
}

/** Reports a detached HEAD whose commits no ref reaches: the servers set HEAD to a branch, and then remove these commits. */
export async function reportDetachedHead(
  { git, ...call }: GitRepository,
  head: Refs['head'],
  { report, fullName }: Pick<DumpContext, 'report' | 'fullName'>,
) {
  if (!('oid' in head)) return
  const args = ['rev-list', '--max-count=1', head.oid, '--not', '--glob=refs/*']
  const isLost = (await git.text(args, call)) !== ''
  report.lost('detached_heads', isLost ? 1 : 0, `${fullName}: ${head.oid}`)
}

/** Returns which of these ids are those of commits. */
export async function findCommits({ git, ...call }: GitRepository, ids: Iterable<string>) {
  const input = Array.from(new Set(ids).values().filter(isSha), (id) => `${id}\n`).join('')
  const output = await git.text(['cat-file', '--batch-check'], { ...call, input })
  return new Set(output.matchAll(/^(\w+) commit /gm).map(([, id]) => id!))
}

/** Returns the merge base of two commits, or undefined if they have none or one of them is unknown. */
export async function findMergeBase({ git, ...call }: GitRepository, one: string, other: string) {
  try {
    return (await git.text(['merge-base', one, other], call)).trim() || undefined
  } catch (error) {
    call.signal.throwIfAborted()
    if (!isExitError(error)) throw error
    return undefined
  }
}

/** Changes refs by lines such as `create REF ID`. */
export async function updateRefs({ git, ...call }: GitRepository, lines: readonly string[]) {
  const input = Buffer.from(lines.map((line) => `${line}\n`).join(''), 'latin1')
  await git.run(['update-ref', '--stdin'], { ...call, input })
}

export const isSha = (text: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text)

export const branchRef = (name: string): string =>
  `refs/heads/${Buffer.from(name).toString('latin1')}`

export interface PullHead {
  number: number
  /** The head commit; empty if the archive does not contain it. */
  sha: string
  /** The name of its branch in the dump, which has no forks. */
  branch: string
}

type HeadFacts = Pick<PullRequest, 'number' | 'head' | 'closedAt' | 'mergedAt' | 'repository'>

/**
 * Plans `refs/pull/N/head` for every head that exists. An existing ref takes precedence over the record, so that commits which were
 * pushed after the record was read are not lost. An open pull request also needs a branch. If it came from a fork, the branch is
 * `owner/branch`, as in the server's own dumps. Returns the heads by number, the commits of the refs to create, and the heads whose
 * record and ref name different commits that both exist (`moved`).
 */
export function planHeads(pulls: Iterable<HeadFacts>, refs: OidsByRef, commits: Set<string>) {
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

type PatchContext = Pick<DumpContext, 'git' | 'directory' | 'signal'>

/**
 * Returns the merge base, which the server expects as the base commit. The record has the head of the base branch instead, which is
 * returned if no merge base is found. Returns '' if that is not known either, or if it is the head of a merged pull request: the
 * branch contains its commits already, so that its diff would be empty. `merged` is the merge commit, or ''.
 */
export async function mergeBase(
  { git, directory, signal }: PatchContext,
  refs: OidsByRef,
  { base, mergedAt }: Pick<PullRequest, 'base' | 'mergedAt'>,
  { head: { sha }, merged }: { head: PullHead; merged: string },
): Promise<string> {
  const call = { git, dir: join(directory, 'git'), signal }
  const isMerged = mergedAt !== null
  // What the branch was before the merge. If the commits were only added to it, the merge commit is the head, or a copy of it.
  const before = isSha(merged) && merged !== sha ? `${merged}^1` : undefined
  const branch = isMerged ? undefined : refs.get(branchRef(base.ref))
  let isContained = false
  for (const other of [isSha(base.sha) ? base.sha : undefined, before, branch]) {
    if (sha === '' || other === undefined) continue
    const found = await findMergeBase(call, other, sha)
    if (isMerged && found === sha) isContained = true
    else if (found) return found
  }
  return isSha(base.sha) && !isContained ? base.sha : ''
}

/** Returns whether git exited with an error, such as for an unknown commit. Returns false if it was killed or timed out. */
function isExitError(error: unknown): boolean {
  return error instanceof GitFailed && error.exitCode !== null
}

/** Writes the patch of a pull request. If a commit is missing, writes an empty file, because the server needs one, and returns false. */
export async function writePatch(
  { git, directory, signal }: PatchContext,
  { number, sha }: PullHead,
  base: string,
): Promise<boolean> {
  const file = join(directory, 'pulls', `${number}.patch`)
  if (sha === '' || base === '') {
    await writeFile(file, '')
    return false
  }
  const args = ['diff', '--binary', '--full-index', '--no-ext-diff', '--no-textconv', '--no-color']
  const call = { dir: join(directory, 'git'), signal, timeoutMs: LONG_TIMEOUT_MS }
  const running = git.start([...args, base, sha], call)
  running.stdin.end()
  try {
    await withWriteContext(file, () =>
      pipeline(running.stdout, createWriteStream(file), { signal }),
    )
    await running.done
    return true
  } catch (error) {
    signal.throwIfAborted()
    if (!isExitError(error)) throw error
    // The archive may not contain the base.
    await writeFile(file, '')
    return false
  }
}
