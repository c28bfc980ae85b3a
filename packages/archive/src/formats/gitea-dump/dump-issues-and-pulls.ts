import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { findCommits, type OidsByRef, updateRefs } from '@godwit/git/commits-and-refs'
import { batchesOf } from '@godwit/lib/chunks'
import { mapConcurrent } from '@godwit/lib/turns'
import type { IssueComment } from '../../records/issue.ts'
import type { PullRequest } from '../../records/pull-request.ts'
import { type PullHead, planHeads } from '../pull-heads.ts'
import { type DumpContext, dumpReactions, dumpTriage, poster } from './dump-context.ts'
import { dumpReviews } from './dump-reviews.ts'
import { mergeBase, writePatch } from './write-patch.ts'
import { YamlList, yamlTime, yamlTimeOrNull } from './yaml-json.ts'

/** Writes issue.yml. The fields are those of the server's schema: with `--validation` it refuses any other. */
export function dumpIssues(context: DumpContext): void {
  const { records, directory, signal } = context
  using list = new YamlList(join(directory, 'issue.yml'))
  for (const issue of records.items('issues')) {
    signal.throwIfAborted()
    const { number } = issue
    list.add({
      number,
      ...poster(context, issue.author),
      title: records.title(number, issue.title),
      content: context.text(issue.body),
      ref: '',
      state: issue.closedAt === null ? 'open' : 'closed',
      is_locked: records.isLocked(number),
      created: yamlTime(issue.createdAt),
      updated: yamlTime(issue.updatedAt),
      closed: yamlTimeOrNull(issue.closedAt),
      ...dumpTriage(context, issue),
      reactions: dumpReactions(context, issue.reactions),
    })
  }
}

/** Writes comments/N.yml for issues and pull requests. */
export function dumpComments(context: DumpContext): void {
  const { records, directory, signal } = context
  let current = 0
  let list: YamlList | undefined
  for (const comment of records.all('issue_comments')) {
    signal.throwIfAborted()
    const { number } = comment.on
    if (number !== current) {
      list?.close()
      current = number
      const file = join(directory, 'comments', `${number}.yml`)
      list = records.kindOf(number) ? new YamlList(file) : undefined
    }
    if (list) list.add(dumpComment(context, number, comment))
    // The server would reject a comment on an unknown issue.
    else {
      const why = `comment ${comment.id} is on #${number}, which is not in the archive`
      records.loseRecord('issue_comments', why)
    }
  }
  list?.close()
}

function dumpComment(context: DumpContext, number: number, comment: IssueComment) {
  return {
    issue_index: number,
    index: comment.id,
    comment_type: 'comment',
    ...poster(context, comment.author),
    created: yamlTime(comment.createdAt),
    updated: yamlTime(comment.createdAt),
    content: context.text(comment.body),
    reactions: dumpReactions(context, comment.reactions),
  }
}

/** How many pull requests are in memory at a time. */
const BATCH_SIZE = 64
const CONCURRENT_PATCHES = 2
/** Writes pull_request.yml, reviews/N.yml and pulls/N.patch, and creates refs in git/ that keep the commits. */
export async function dumpPulls(context: DumpContext, refs: OidsByRef): Promise<void> {
  const { records, report, fullName, directory, signal } = context
  records.loseReviewsWithoutPull()
  if (records.count('pull_requests') === 0) return
  await mkdir(join(directory, 'pulls'))
  const heads = await createRefs(context, refs)
  using list = new YamlList(join(directory, 'pull_request.yml'))
  for (const batch of batchesOf(records.items('pull_requests'), BATCH_SIZE)) {
    const bases = new Map<number, string>()
    const patched = new Set<number>()
    const limits = { concurrency: CONCURRENT_PATCHES, signal }
    await mapConcurrent(batch, limits, async (pull, signal) => {
      const [head, merged] = [heads.get(pull.number)!, mergeCommitOf(context, pull)]
      const call = { ...context, signal }
      const base = await mergeBase(call, refs, pull, { head, merged })
      bases.set(pull.number, base)
      if (await writePatch(call, head, base)) patched.add(pull.number)
    })
    for (const pull of batch) {
      const { number } = pull
      const [head, base] = [heads.get(number)!, bases.get(number)!]
      list.add(dumpPull(context, pull, head, base))
      if (head.sha !== '' && !patched.has(number)) {
        const why =
          'the commit that it began at is unknown or not in the archive: its diff is empty'
        records.warn('pull requests', `pull request ${number}: ${why}`)
        report.addLoss('pull_request_diffs', 1, `${fullName}: #${number}`)
      }
      dumpReviews(context, number, { hasDiff: head.sha !== '' && base !== '' })
    }
  }
}

/** Creates the refs that `planHeads` plans, and returns the head of each pull request by its number. */
async function createRefs(context: DumpContext, refs: OidsByRef): Promise<Map<number, PullHead>> {
  const { git, directory, records, signal } = context
  const call = { git, dir: join(directory, 'git'), signal }
  const shas = records.all('pull_requests').map(({ head }) => head.sha)
  const commits = await findCommits(call, shas)
  const { heads, create, moved } = planHeads(records.all('pull_requests'), refs, commits)
  const lines = Array.from(create, ([ref, sha]) => `create ${ref} ${sha}`)
  await updateRefs(call, lines)
  const warn = (number: number, why: string) =>
    records.warn('pull requests', `pull request ${number}: ${why}`)
  for (const { number, sha } of heads.values())
    if (sha === '') warn(number, 'the commits are not in the archive')
  for (const { number } of moved)
    warn(number, 'record and ref name different commits; that of the ref is used')
  return heads
}

const DRAFT_PREFIX = /^\s*(?:WIP:|\[WIP\])/i

function dumpPull(context: DumpContext, pull: PullRequest, head: PullHead, base: string) {
  const { owner, name, report, records } = context
  const { number, mergedAt, draft, title } = pull
  const closedAt = pull.closedAt ?? mergedAt
  report.addLoss('review_requests', pull.reviewRequests.length)
  report.addLoss('linked_issues', pull.closes.filter(({ source }) => source === 'manual').length)
  return {
    number,
    // The server recognizes a draft by its title.
    title: records.title(number, draft && !DRAFT_PREFIX.test(title) ? `WIP: ${title}` : title),
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
    is_locked: records.isLocked(number),
    is_draft: draft,
    reactions: dumpReactions(context, pull.reactions),
    // Servers since 1.17 look for comments and reviews by this field.
    foreignindex: number,
  }
}

/** Returns the merge commit, or '' if it is not known. In archives from before 2024 only the event has it. */
function mergeCommitOf({ records }: DumpContext, { number, mergedAt, mergeCommit }: PullRequest) {
  const merge = records.of('issue_events', number).find(({ event }) => event === 'merged')
  return mergedAt === null ? '' : (mergeCommit ?? merge?.commit ?? '')
}

/** Returns the time of the last change that the archive contains, because its pull requests have no such field. */
function updatedAt({ records }: DumpContext, pull: PullRequest): string {
  const times = [pull.createdAt, pull.closedAt, pull.mergedAt].flatMap((at) =>
    at === null ? [] : [Date.parse(at)],
  )
  const kinds = ['issue_comments', 'pull_request_reviews', 'pull_request_review_comments'] as const
  const later = kinds.flatMap((kind) => records.newest(kind, pull.number) ?? [])
  return yamlTime(new Date(Math.max(...times, ...later)).toISOString())
}
