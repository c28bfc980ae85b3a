import { readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { gitRecords, type RepositoryCall } from '@godwit/git/files/git-records'
import { readFileStart } from '@godwit/git/files/regular-file'
import type { Git } from '@godwit/git/git'
import { Unreadable } from '@godwit/git/unreadable'
import { hasCode } from '@godwit/lib/errno'
import { readTree, type TreeMetadata } from './head-tree.ts'

/** Which metadata to read besides that of the refs. */
export interface WantedMetadata {
  oldestCommit: boolean
  isTreeWanted(headCommit: string): boolean
}

/** The metadata from refs, history and the tree of HEAD; null if it was not wanted. Times are in epoch milliseconds. */
export interface GitMetadata {
  refs: RefMetadata
  /** The time of the oldest root commit; null also if it is unknown. */
  oldest: number | null
  tree: TreeMetadata | null
}

interface RefMetadata {
  defaultBranch: string
  /** Null while the branch that HEAD names has no commit. */
  headCommit: string | null
  /** The newest time of an object that a ref names; null if none has a time. */
  newest: number | null
}

/**
 * Reads the metadata with several git processes. This works for every repository, however large or unusual, and fails with git's own
 * message for a damaged one.
 */
export async function readMetadataWithGit(
  git: Git,
  call: RepositoryCall,
  wanted: WantedMetadata,
): Promise<GitMetadata> {
  const refs = await summarizeRefs(await readHead(git, call), listRefs(git, call))
  const oldest = wanted.oldestCommit ? await readOldestRoot(git, call) : null
  const { headCommit } = refs
  const isTreeRead = headCommit !== null && wanted.isTreeWanted(headCommit)
  return { refs, oldest, tree: isTreeRead ? await readTree(git, headCommit, call) : null }
}

interface DatedRef {
  ref: string
  oid: string
  /** The time of the commit or tag in epoch milliseconds; null if it has none. */
  time: number | null
}

/** Git opens the object of each ref, so a missing object is an error here. */
async function* listRefs(git: Git, call: RepositoryCall): AsyncGenerator<DatedRef> {
  const format = '--format=%(objectname) %(creatordate:unix) %(refname)'
  for await (const line of gitRecords(git, ['for-each-ref', format], '\n', call)) {
    const [oid = '', seconds = '', ref = ''] = line.split(' ')
    yield { oid, time: toMilliseconds(seconds), ref }
  }
}

export type Head = { ref: string } | { commit: string }

/** `refs` are in the order of their names. */
export async function summarizeRefs(
  head: Head,
  refs: Iterable<DatedRef> | AsyncIterable<DatedRef>,
): Promise<RefMetadata> {
  let headCommit = 'commit' in head ? head.commit : null
  let branch = 'ref' in head ? head.ref : 'HEAD'
  let bestRank = Number.POSITIVE_INFINITY
  let newest: number | null = null
  for await (const { ref, oid, time } of refs) {
    if (time !== null && time > (newest ?? 0)) newest = time
    if ('ref' in head) {
      if (ref === head.ref) headCommit = oid
    } else if (rankAsDefault(ref, oid === head.commit) < bestRank) {
      bestRank = rankAsDefault(ref, oid === head.commit)
      branch = ref
    }
  }
  return { defaultBranch: branch.replace(/^refs\/heads\//, ''), headCommit, newest }
}

const BRANCHES = 'refs/heads/'

/** For a HEAD that names a commit: prefers a branch at that commit, then `main` and `master`, then the first by name. */
function rankAsDefault(ref: string, isAtHead: boolean): number {
  if (!ref.startsWith(BRANCHES)) return Number.POSITIVE_INFINITY
  const customary = ['main', 'master'].indexOf(ref.slice(BRANCHES.length))
  return (isAtHead ? 0 : 3) + (customary === -1 ? 2 : customary)
}

/** Returns the time of the oldest commit without parents. Git walks the complete history, so call it once per repository. */
export async function readOldestRoot(git: Git, call: RepositoryCall): Promise<number | null> {
  let oldest: number | null = null
  const args = ['rev-list', '--all', '--max-parents=0', '--timestamp']
  for await (const line of gitRecords(git, args, '\n', call)) {
    oldest = earlier(oldest, toMilliseconds(line.split(' ')[0]!))
  }
  return oldest
}

/** Reads the file without git, except in a repository with a reftable, whose HEAD file has a fixed content. */
async function readHead(git: Git, call: RepositoryCall): Promise<Head> {
  const path = join(call.dir, 'HEAD')
  const text = await readFileStart(path, 4096).then(String, async (error: unknown) => {
    if (!hasCode(error, 'ELOOP')) throw error
    return `ref: ${await readlink(path)}` // as git wrote it before 2006, and still reads it
  })
  if (text.trim() === 'ref: refs/heads/.invalid') return readReftableHead(git, call)
  const [, ref, commit] =
    /^(?:ref:[ \t\r\n]*(refs\/[^ \t\r\n]+)|([0-9a-fA-F]{40,64}))[ \t\r\n]*$/.exec(text) ?? []
  if (ref !== undefined) return { ref }
  if (commit !== undefined) return { commit: commit.toLowerCase() }
  throw new Unreadable('HEAD names neither a branch nor a commit')
}

async function readReftableHead(git: Git, call: RepositoryCall): Promise<Head> {
  const mayBeDetached = { ...call, mayFindNothing: true }
  const ref = (await git.text(['symbolic-ref', '--quiet', 'HEAD'], mayBeDetached)).trim()
  return ref
    ? { ref }
    : { commit: (await git.text(['rev-parse', '--verify', 'HEAD'], call)).trim() }
}

export function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b)
}

const YEAR_9999 = Date.UTC(9999, 0)

/** Returns null, which means an unknown time, for 0, for an invalid number, and from the year 9999 on. */
export function toMilliseconds(seconds: string): number | null {
  const time = Number(seconds) * 1000
  return time > 0 && time < YEAR_9999 ? time : null
}
