import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { batchesOf } from '../../lib/batches.ts'
import { mapConcurrent } from '../../lib/map-concurrent.ts'
import type { PullRequest } from '../../records/pull-request.ts'
import {
  type DumpContext,
  dumpReactions,
  dumpTitle,
  dumpTriage,
  isLocked,
  poster,
} from './dump-context.ts'
import { dumpReviews, reportReviewsWithoutPull } from './dump-reviews.ts'
import {
  isSha,
  mergeBase,
  type OidsByRef,
  type PullHead,
  planHeads,
  writePatch,
} from './pull-heads.ts'
import { YamlList, yamlTime, yamlTimeOrNull } from './yaml-json.ts'

/** How many pull requests are in memory at a time. */
const BATCH_SIZE = 64
const CONCURRENT_PATCHES = 2

/** Writes pull_request.yml, reviews/N.yml and pulls/N.patch, and creates refs in git/ that keep the commits. */
export async function dumpPulls(
  context: DumpContext,
  refs: OidsByRef,
  signal: AbortSignal,
): Promise<void> {
  const { rows, directory } = context
  reportReviewsWithoutPull(context)
  if (rows.count('pulls') === 0) return
  await mkdir(join(directory, 'pulls'))
  const heads = await createRefs(context, refs, signal)
  const list = new YamlList(join(directory, 'pull_request.yml'))
  for (const batch of batchesOf(withoutDuplicates(context), BATCH_SIZE)) {
    const bases = new Map<number, string>()
    const patched = new Set<number>()
    await mapConcurrent(
      batch,
      { concurrency: CONCURRENT_PATCHES, signal },
      async (pull, signal) => {
        const head = heads.get(pull.number)!
        const merged = { ...pull, mergeCommit: mergeCommitOf(context, pull) }
        const base = await mergeBase(context, refs, merged, head, signal)
        bases.set(pull.number, base)
        if (await writePatch(context, head, base, signal)) patched.add(pull.number)
      },
    )
    for (const pull of batch) {
      const [head, base] = [heads.get(pull.number)!, bases.get(pull.number)!]
      list.add(dumpPull(context, pull, head, base))
      if (head.sha !== '' && !patched.has(pull.number)) reportEmptyDiff(context, pull.number)
      dumpReviews(context, pull.number, { hasDiff: head.sha !== '' && base !== '' })
    }
  }
  list.close()
}

function reportEmptyDiff({ report, fullName }: DumpContext, number: number): void {
  const why = 'the commit that it began at is unknown or not in the archive: its diff is empty'
  report.warn('pull requests', `${fullName}: pull request ${number}: ${why}`)
  report.lost('pull_request_diffs', 1, `${fullName}: #${number}`)
}

/** Skips duplicate numbers, because the server fails at them. */
function* withoutDuplicates({ rows, report, fullName }: DumpContext): Generator<PullRequest> {
  let last = 0
  for (const [number, pull] of rows.all<PullRequest>('pulls')) {
    if (number === last) report.lostRecord('pull_requests', `${fullName}: #${number} occurs twice`)
    else yield pull
    last = number
  }
}

/** Creates the refs that `planHeads` plans, and returns the head of each pull request by its number. */
async function createRefs(
  context: DumpContext,
  refs: OidsByRef,
  signal: AbortSignal,
): Promise<Map<number, PullHead>> {
  const { git, directory, rows, report, fullName } = context
  const call = { dir: join(directory, 'git'), signal }
  const pulls = () => Iterator.from(rows.all<PullRequest>('pulls')).map(([, pull]) => pull)
  const shas = new Set(pulls().map(({ head }) => head.sha))
  const input = Array.from(shas.values().filter(isSha), (sha) => `${sha}\n`).join('')
  const output = await git.text(['cat-file', '--batch-check'], { ...call, input })
  const existing = new Set(output.matchAll(/^(\w+) commit /gm).map(([, sha]) => sha!))
  const { heads, create, moved } = planHeads(pulls(), refs, (sha) => existing.has(sha))
  const lines = [...create].map(([ref, sha]) => `create ${ref} ${sha}\n`)
  const updates = Buffer.from(lines.join(''), 'latin1')
  await git.run(['update-ref', '--stdin'], { ...call, input: updates })
  const warn = (number: number, why: string) =>
    report.warn('pull requests', `${fullName}: pull request ${number}: ${why}`)
  for (const { number, sha } of heads.values())
    if (sha === '') warn(number, 'the commits are not in the archive')
  for (const { number } of moved)
    warn(number, 'record and ref name different commits; that of the ref is used')
  return heads
}

const DRAFT_PREFIX = /^\s*(?:WIP:|\[WIP\])/i

function dumpPull(context: DumpContext, pull: PullRequest, head: PullHead, base: string) {
  const { owner, name, report } = context
  const { number, mergedAt, draft, title } = pull
  const closedAt = pull.closedAt ?? mergedAt
  report.lost('review_requests', pull.reviewRequests.length)
  return {
    number,
    // The server recognizes a draft by its title.
    title: dumpTitle(context, number, draft && !DRAFT_PREFIX.test(title) ? `WIP: ${title}` : title),
    ...poster(context, pull.author),
    content: context.text(pull.body),
    state: closedAt === null ? 'open' : 'closed',
    created: yamlTime(pull.createdAt),
    updated: updatedAt(context, pull),
    closed: yamlTimeOrNull(closedAt),
    ...dumpTriage(context, pull),
    patch_url: `pulls/${number}.patch`,
    merged: mergedAt !== null,
    merged_time: yamlTimeOrNull(mergedAt),
    merge_commit_sha: mergeCommitOf(context, pull),
    // The branch of a fork is dumped as one of this repository, because the server would fetch it from the old host.
    head: { clone_url: '', ref: head.branch, sha: head.sha, repo_name: name, owner_name: owner },
    base: { clone_url: '', ref: pull.base.ref, sha: base, repo_name: name, owner_name: owner },
    is_locked: isLocked(context, number),
    is_draft: draft,
    reactions: dumpReactions(context, pull.reactions),
    // Servers since 1.17 look for comments and reviews by this field.
    foreignindex: number,
  }
}

/** Returns the merge commit, or '' if it is not known. In archives from before 2024 only the event has it. */
function mergeCommitOf(
  { rows }: DumpContext,
  { number, mergedAt, mergeCommit }: PullRequest,
): string {
  const [commitOfEvent] = rows.of<string | null>('merges', number)
  return mergedAt === null ? '' : (mergeCommit ?? commitOfEvent ?? '')
}

/** Returns the time of the last change that the archive contains, because its pull requests have no such field. */
function updatedAt({ rows }: DumpContext, pull: PullRequest): string {
  const times = [pull.createdAt, pull.closedAt, pull.mergedAt].flatMap((at) =>
    at === null ? [] : [Date.parse(at)],
  )
  const tables = ['comments', 'reviews', 'review_comments'] as const
  const later = tables.flatMap((table) => rows.newest(table, pull.number) ?? [])
  return yamlTime(new Date(Math.max(...times, ...later)).toISOString())
}
