import { readlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git, GitCall } from '../../../git/git.ts'
import { GitFailed } from '../../../git/git-end.ts'
import { hasCode } from '../../../lib/errno.ts'
import { Unreadable } from '../../unreadable.ts'
import { gitRecords } from '../files/git-records.ts'
import { readSmallFile } from '../files/own-file.ts'

/** What the refs of a repository tell of it. */
export interface RefFacts {
  defaultBranch: string
  /** Null while the branch that HEAD names is unborn. */
  headCommit: string | null
  /** When the newest of what refs point at was made, in epoch milliseconds; null where no ref tells. */
  newest: number | null
}

export type RepositoryCall = GitCall & { dir: string }
export type Head = { ref: string } | { commit: string }

const BRANCHES = 'refs/heads/'
const YEAR_9999 = Date.UTC(9999, 0)

interface NamedObject {
  ref: string
  oid: string
  /** When it was made; null where it does not tell. */
  time: number | null
}

/** One pass over all refs; as git must open what each points at, a missing object comes to light here. */
export async function listRefs(git: Git, call: RepositoryCall): Promise<RefFacts> {
  const head = await readHead(git, call)
  return sumUp(head, listed(git, call))
}

async function* listed(git: Git, call: RepositoryCall): AsyncGenerator<NamedObject> {
  const format = '--format=%(objectname) %(creatordate:unix) %(refname)'
  for await (const line of gitRecords(git, ['for-each-ref', format], '\n', call)) {
    const [oid = '', seconds = '', ref = ''] = line.split(' ')
    yield { oid, time: moment(seconds), ref }
  }
}

/** In the order of their names. */
export async function sumUp(
  head: Head,
  named: Iterable<NamedObject> | AsyncIterable<NamedObject>,
): Promise<RefFacts> {
  let headCommit = 'commit' in head ? head.commit : null
  let branch = 'ref' in head ? head.ref : 'HEAD'
  let bestRank = Number.POSITIVE_INFINITY
  let newest: number | null = null
  for await (const { ref, oid, time } of named) {
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

/** Where HEAD names a commit and no branch: one at that commit, then the customary names, then the first in order. */
function rankAsDefault(ref: string, isAtHead: boolean): number {
  if (!ref.startsWith(BRANCHES)) return Number.POSITIVE_INFINITY
  const customary = ['main', 'master'].indexOf(ref.slice(BRANCHES.length))
  return (isAtHead ? 0 : 3) + (customary === -1 ? 2 : customary)
}

/** When the oldest commit without parents was made; this walks all of history, so it is asked once. */
export async function oldestRoot(git: Git, call: RepositoryCall): Promise<number | null> {
  let oldest: number | null = null
  const args = ['rev-list', '--all', '--max-parents=0', '--timestamp']
  for await (const line of gitRecords(git, args, '\n', call)) {
    oldest = earlier(oldest, moment(line.split(' ')[0]!))
  }
  return oldest
}

/** A file of one line, read without a process; where refs are in tables it is a stub, and git is asked. */
async function readHead(git: Git, call: RepositoryCall): Promise<Head> {
  const path = join(call.dir, 'HEAD')
  const text = await readSmallFile(path, 4096).then(String, async (error: unknown) => {
    if (!hasCode(error, 'ELOOP')) throw error
    return `ref: ${await readlink(path)}` // as git made it before 2006, and still reads it
  })
  if (text.trim() === 'ref: refs/heads/.invalid') return headInTables(git, call)
  const [, ref, commit] = /^(?:ref:\s*(refs\/\S+)|([0-9a-f]{40,64}))\s*$/.exec(text) ?? []
  if (ref !== undefined) return { ref }
  if (commit !== undefined) return { commit }
  throw new Unreadable('HEAD names neither a branch nor a commit')
}

async function headInTables(git: Git, call: RepositoryCall): Promise<Head> {
  try {
    return { ref: (await git.text(['symbolic-ref', '--quiet', 'HEAD'], call)).trim() }
  } catch (error) {
    if (!(error instanceof GitFailed && error.exitCode === 1)) throw error
    return { commit: (await git.text(['rev-parse', '--verify', 'HEAD'], call)).trim() }
  }
}

/** Of several moments, the first. */
export function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b)
}

/** Git's seconds in milliseconds; nothing and the epoch itself, which stand for a lost date, are none. */
export function moment(seconds: string): number | null {
  const time = Number(seconds) * 1000
  return time > 0 ? Math.min(time, YEAR_9999) : null
}
