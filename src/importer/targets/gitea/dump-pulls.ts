import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { batchesOf } from '../../../lib/batches.ts'
import { mapConcurrent } from '../../../lib/map-concurrent.ts'
import type { PullRequest } from '../../../records/pull-request.ts'
import {
  type DumpContext,
  dumpReactions,
  dumpTitle,
  dumpTriage,
  isLocked,
  poster,
} from './dump-context.ts'
import { countLostReviews, dumpReviews } from './dump-reviews.ts'
import {
  isSha,
  mergeBase,
  type OidsByRef,
  type PullHead,
  planHeads,
  writePatch,
} from './pull-heads.ts'
import { yamlList, yamlTime } from './yaml-json.ts'

/** How many are in memory at a time. Each batch is whole before other questions are asked of the rows. */
const BATCH = 64
const AT_ONCE = 2

/** pull_request.yml, reviews/N.yml, pulls/N.patch, and in git/ the refs that hold the commits. */
export async function dumpPulls(
  context: DumpContext,
  refs: OidsByRef,
  signal: AbortSignal,
): Promise<void> {
  const { rows, shelf, place } = context
  countLostReviews(context)
  if (rows.count(shelf('pulls')) === 0) return
  await mkdir(join(place, 'pulls'))
  const heads = await makeRefs(context, refs, signal)
  const list = yamlList(join(place, 'pull_request.yml'))
  const unpatched: PullRequest[] = []
  for (const batch of batchesOf(eachOnce(context), BATCH)) {
    const bases = new Map<number, string>()
    const patched = new Set<number>()
    await mapConcurrent(batch, { lanes: AT_ONCE, signal }, async (pull, signal) => {
      const head = heads.get(pull.number)!
      const base = await mergeBase(context, refs, pull, head, signal)
      bases.set(pull.number, base)
      if (await writePatch(context, head, base, signal)) patched.add(pull.number)
    })
    for (const pull of batch) {
      const [head, base] = [heads.get(pull.number)!, bases.get(pull.number)!]
      list.add(dumpPull(context, pull, head, base))
      if (head.sha !== '' && !patched.has(pull.number)) unpatched.push(pull)
      dumpReviews(context, pull.number, { hasDiff: head.sha !== '' && base !== '' })
    }
  }
  list.close()
  warnOfSome(context, unpatched, 'the commit that it began at is not in the archive: no patch')
}

/** The server fails at a number that it has already. */
function* eachOnce({ rows, shelf, tally, fullName }: DumpContext): Generator<PullRequest> {
  let last = 0
  for (const [number, pull] of rows.all<PullRequest>(shelf('pulls'))) {
    if (number === last) tally.lose('pull_requests', `${fullName}: #${number} is there twice`)
    else yield pull
    last = number
  }
}

async function makeRefs(
  context: DumpContext,
  refs: OidsByRef,
  signal: AbortSignal,
): Promise<Map<number, PullHead>> {
  const { git, place, rows, shelf } = context
  const dir = join(place, 'git')
  const pulls = () => rows.all<PullRequest>(shelf('pulls'))
  const asked = [...new Set(Array.from(pulls(), ([, { head }]) => head.sha))].filter(isSha)
  const there = await commitsThere(context, asked, signal)
  const { heads, create, moved } = planHeads(withoutKeys(pulls()), refs, (sha) => there.has(sha))
  const lines = [...create].map(([ref, sha]) => `create ${ref} ${sha}\n`)
  await git.run(['update-ref', '--stdin'], {
    ...{ dir, signal },
    input: Buffer.from(lines.join(''), 'latin1'),
  })
  const lost = [...heads.values()].filter(({ sha }) => sha === '')
  warnOfSome(context, lost, 'the commits are not in the archive')
  warnOfSome(context, moved, 'record and ref name different commits; that of the ref is used')
  return heads
}

const MAX_NAMED = 5

function warnOfSome(
  { tally, fullName }: DumpContext,
  pulls: readonly Pick<PullHead, 'number'>[],
  why: string,
): void {
  for (const { number } of pulls.slice(0, MAX_NAMED))
    tally.warn('pull requests', `${fullName}: pull request ${number}: ${why}`)
  const more = pulls.length - MAX_NAMED
  if (more > 0) tally.warn('pull requests', `${fullName}: ${more} more pull requests: ${why}`)
}

function* withoutKeys<T>(entries: Iterable<[number, T]>): Generator<T> {
  for (const [, value] of entries) yield value
}

async function commitsThere(
  { git, place }: DumpContext,
  commits: readonly string[],
  signal: AbortSignal,
): Promise<Set<string>> {
  const said = await git.text(['cat-file', '--batch-check'], {
    ...{ dir: join(place, 'git'), signal },
    input: commits.map((sha) => `${sha}\n`).join(''),
  })
  const found = said.split('\n').flatMap((line) => {
    const [sha, kind] = line.split(' ')
    return sha && kind === 'commit' ? [sha] : []
  })
  return new Set(found)
}

const DRAFT = /^\s*(?:WIP:|\[WIP\])/i

function dumpPull(context: DumpContext, pull: PullRequest, head: PullHead, base: string) {
  const { owner, name, rows, shelf, tally } = context
  const { number, mergedAt, draft, title } = pull
  const closedAt = pull.closedAt ?? mergedAt
  const [event] = rows.of<string | null>(shelf('merges'), number)
  tally.skip('review_requests', pull.reviewRequests.length)
  return {
    number,
    // The server knows a draft by its title.
    title: dumpTitle(context, number, draft && !DRAFT.test(title) ? `WIP: ${title}` : title),
    ...poster(context, pull.author),
    content: context.text(pull.body),
    state: closedAt === null ? 'open' : 'closed',
    created: yamlTime(pull.createdAt),
    updated: updatedAt(context, pull),
    closed: closedAt === null ? null : yamlTime(closedAt),
    ...dumpTriage(context, pull),
    patch_url: `pulls/${number}.patch`,
    merged: mergedAt !== null,
    merged_time: mergedAt === null ? null : yamlTime(mergedAt),
    merge_commit_sha: mergedAt === null ? '' : (pull.mergeCommit ?? event ?? ''),
    // As if the branch were here: the server would fetch that of a fork from where it was.
    head: { clone_url: '', ref: head.branch, sha: head.sha, repo_name: name, owner_name: owner },
    base: { clone_url: '', ref: pull.base.ref, sha: base, repo_name: name, owner_name: owner },
    is_locked: isLocked(context, number),
    is_draft: draft,
    reactions: dumpReactions(context, pull.reactions),
    // From 1.17 on servers look for comments and reviews by it.
    foreignindex: number,
  }
}

/** Archives do not say: it is the last that happened. */
function updatedAt({ rows, shelf }: DumpContext, pull: PullRequest): string {
  const said = [pull.createdAt, pull.closedAt, pull.mergedAt].flatMap((at) =>
    at === null ? [] : [Date.parse(at)],
  )
  const shelves = (['comments', 'reviews', 'review_comments'] as const).map(shelf)
  const later = shelves.flatMap((name) => rows.newest(name, pull.number) ?? [])
  return yamlTime(new Date(Math.max(...said, ...later)).toISOString())
}
