import { createWriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { A_DAY, type Git } from '../../../git/git.ts'
import { GitFailed } from '../../../git/git-end.ts'
import { writingTo } from '../../../lib/disk-errors.ts'
import type { PullRequest } from '../../../records/pull-request.ts'
import type { DumpContext } from './dump-context.ts'

/** Refs by name; names are byte strings, as git has them. */
export type OidsByRef = ReadonlyMap<string, string>

export async function readOidsByRef(
  git: Git,
  dir: string,
  signal: AbortSignal,
): Promise<OidsByRef> {
  const format = '--format=%(objectname) %(refname)'
  const lines = (await git.run(['for-each-ref', format], { dir, signal })).toString('latin1')
  return new Map(
    lines
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => [line.slice(line.indexOf(' ') + 1), line.slice(0, line.indexOf(' '))]),
  )
}

export const isSha = (text: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text)

export const branchRef = (name: string): string =>
  `refs/heads/${Buffer.from(name).toString('latin1')}`

/** What of a pull request git has. */
export interface PullHead {
  number: number
  /** The commit that was to be merged; empty where the archive does not hold it. */
  sha: string
  /** Name of its branch, here where forks do not exist. */
  branch: string
}

export interface PlannedHeads {
  heads: Map<number, PullHead>
  /** Refs to make, so that no commit of a pull request is lost and an open one can be merged. None of them is there. */
  create: Map<string, string>
  /** Those whose record names another commit, which is there as well, than their ref. */
  moved: PullHead[]
}

type Asked = Pick<PullRequest, 'number' | 'head' | 'closedAt' | 'mergedAt' | 'repository'>

/**
 * Every head that is there is named by `refs/pull/N/head`. Where that ref is there, it counts, whatever the record says: who
 * pushed between the reading of the two would lose commits if it went back. An open pull request also needs a branch: one
 * of a fork gets a branch `owner/branch`, as the server's own dumps have it.
 */
export function planHeads(
  pulls: Iterable<Asked>,
  refs: OidsByRef,
  isThere: (commit: string) => boolean,
): PlannedHeads {
  const [heads, create] = [new Map<number, PullHead>(), new Map<string, string>()]
  const moved: PullHead[] = []
  const names = branchNames(refs)
  for (const { number, head, closedAt, mergedAt, repository } of pulls) {
    const ref = `refs/pull/${number}/head`
    const sha = refs.get(ref) ?? (isThere(head.sha) ? head.sha : '')
    if (sha !== '' && !refs.has(ref)) create.set(ref, sha)
    const isOpen = closedAt === null && mergedAt === null
    const isOwn = head.repository?.toLowerCase() === repository.toLowerCase()
    // Never the name of a branch here that is another: whoever removes the branch of a merged one would remove that.
    const wanted = isOwn ? head.ref : `${head.owner ?? 'ghost'}/${head.ref}`
    const isUsable = (name: string) => {
      const there = names.at(branchRef(name))
      if (there !== undefined) return isOwn || there === sha
      return (isOwn && !isOpen) || (isPlain(name) && names.isFree(branchRef(name)))
    }
    const others = [`pull-${number}`, `pull-${number}-head`, `pull-${number}-${sha || 'lost'}`]
    const branch = [wanted, ...others].find(isUsable) ?? others.at(-1)!
    if (isOpen && sha !== '' && names.at(branchRef(branch)) === undefined) {
      create.set(branchRef(branch), sha)
      names.add(branchRef(branch), sha)
    }
    heads.set(number, { number, sha, branch })
    if (sha !== head.sha && isThere(head.sha)) moved.push({ number, sha, branch })
  }
  return { heads, create, moved }
}

/** Names of branches, among which new ones must find room: no name may be a folder of another. */
function branchNames(refs: OidsByRef) {
  const [names, folders] = [new Map<string, string>(), new Set<string>()]
  const above = (ref: string): string[] =>
    ref.split('/').map((_, n, parts) => parts.slice(0, n + 1).join('/'))
  const add = (ref: string, sha: string) => {
    names.set(ref, sha)
    for (const folder of above(ref).slice(0, -1)) folders.add(folder)
  }
  for (const [ref, sha] of refs) if (ref.startsWith('refs/heads/')) add(ref, sha)
  return {
    add,
    at: (ref: string) => names.get(ref),
    isFree: (ref: string) => !folders.has(ref) && !above(ref).some((part) => names.has(part)),
  }
}

/** Surely a name that git takes for a branch. */
function isPlain(name: string): boolean {
  return /^[\w.+/=-]+$/.test(name) && !/\.\.|\/\/|\/\.|\.\/|\.lock(?:\/|$)|^[-/.]|[/.]$/.test(name)
}

/** Where the branch began: what the server compares a head with. The base of a record is only where the other branch was. */
export async function mergeBase(
  { git, place }: DumpContext,
  refs: OidsByRef,
  { base, mergedAt }: PullRequest,
  { sha }: PullHead,
  signal: AbortSignal,
): Promise<string> {
  const call = { dir: join(place, 'git'), signal }
  const branch = refs.get(branchRef(base.ref))
  // Once it is merged, the branch holds the head, and says nothing.
  const others = [base.sha, ...(mergedAt === null && branch ? [branch] : [])].filter(isSha)
  if (sha !== '')
    for (const other of others) {
      const said = await git.text(['merge-base', other, sha], call).catch((error: unknown) => {
        signal.throwIfAborted()
        if (!isClientError(error)) throw error
        return ''
      })
      if (isSha(said.trim())) return said.trim()
    }
  return isSha(base.sha) ? base.sha : ''
}

/** Git ran to its end and said no, as it does of commits that are not there; it was not killed, and did not hang. */
function isClientError(error: unknown): boolean {
  return error instanceof GitFailed && error.exitCode !== null
}

/** The server wants one for each, be it empty. Answers whether it could be made. */
export async function writePatch(
  { git, place }: DumpContext,
  { number, sha }: PullHead,
  base: string,
  signal: AbortSignal,
): Promise<boolean> {
  const file = join(place, 'pulls', `${number}.patch`)
  const args = ['diff', '--binary', '--full-index', '--no-ext-diff', '--no-textconv', '--no-color']
  if (sha === '' || base === '') {
    await writeFile(file, '')
    return false
  }
  const call = { dir: join(place, 'git'), signal, timeoutMs: A_DAY }
  const running = git.start([...args, base, sha], call)
  running.stdin.end()
  try {
    await writingTo(file, () => pipeline(running.stdout, createWriteStream(file), { signal }))
    await running.done
    return true
  } catch (error) {
    signal.throwIfAborted()
    if (!isClientError(error)) throw error
    // The base may be a commit that the archive does not hold.
    await writeFile(file, '')
    return false
  }
}
