import {
  branchRef,
  findCommits,
  type GitRepository,
  type OidsByRef,
  updateRefs,
} from '@godwit/git/commits-and-refs'
import { GitFailed } from '@godwit/git/git-process'
import { batchesOf } from '@godwit/lib/chunks'
import { mapConcurrent } from '@godwit/lib/turns'
import type { PullRequest } from '../../records/pull-request.ts'
import { type PullHead, planHeads } from '../pull-heads.ts'
import {
  type CommitRange,
  type Diff,
  type DiffReader,
  openDiffs,
  readCommits,
} from './write-diffs.ts'
import { byTime, issuable, userIds } from './write-discussions.ts'
import { gitlabTime, gitlabTimeOrNull, type Project, timestamps } from './write-project.ts'
import { reviewers, reviewNotes, type ShownDiff } from './write-reviews.ts'

/** How many pull requests are in memory at a time. */
const BATCH_SIZE = 64
const CONCURRENT_LOGS = 2
/** Any id, which an importer replaces. If those of source and target are equal, the merge request is not from a fork. */
const PROJECT_ID = 1

/** A bare repository, which is changed, with its refs before that. */
type GitOptions = GitRepository & { refs: OidsByRef }

/**
 * Yields the merge requests. Before the first, it renames `refs/pull/N/…` to `refs/merge-requests/N/…`, adds a ref for every head
 * without one, and a branch for every open pull request from a fork.
 */
export async function* mergeRequests(project: Project, options: GitOptions) {
  const { git, dir, signal } = options
  const { heads, commits } = await prepareRefs(project, options)
  if (heads.size === 0) return
  await using diffs = openDiffs({ git, dir, signal })
  for (const batch of batchesOf(project.items('pull_requests'), BATCH_SIZE)) {
    const ranges = new Map<number, CommitRange>()
    await mapConcurrent(batch, { concurrency: CONCURRENT_LOGS, signal }, async (pull, signal) => {
      const head = heads.get(pull.number)!.sha
      const range = await findRange({ ...options, signal }, pull, head, commits)
      if (range) ranges.set(pull.number, range)
    })
    for (const pull of batch) {
      const diff = await readDiff(project, pull, { diffs, range: ranges.get(pull.number) })
      yield mergeRequestRecord(project, pull, { head: heads.get(pull.number)!, diff })
    }
  }
}

async function prepareRefs(project: Project, { refs, ...call }: GitOptions) {
  const pulls = () => project.all('pull_requests')
  const named = pulls().flatMap(({ head, base, mergeCommit }) => [head.sha, base.sha, mergeCommit])
  const commits = await findCommits(
    call,
    named.filter((sha) => typeof sha === 'string'),
  )
  const { heads, create, moved } = planHeads(pulls(), refs, commits)
  const why = 'its ref and its record name different commits; the ref is used'
  for (const { number } of moved) project.warn('pull requests', `#${number}: ${why}`)
  const old = [...refs].filter(([ref]) => ref.startsWith('refs/pull/'))
  const newName = (ref: string) => ref.replace(/^refs\/pull\//, 'refs/merge-requests/')
  await updateRefs(call, [
    ...[...create, ...old].map(([ref, sha]) => `update ${newName(ref)} ${sha}`),
    ...old.map(([ref]) => `delete ${ref}`),
  ])
  return { heads, commits }
}

/**
 * Returns the commits of a pull request: those that its target branch did not have before the merge. Tries the base commit of the
 * record, the branch, and the parent of the merge commit, until one does not contain the head.
 */
async function findRange(
  { refs, ...call }: GitOptions,
  { base, mergedAt, mergeCommit }: PullRequest,
  head: string,
  commits: ReadonlySet<string>,
): Promise<CommitRange | undefined> {
  if (head === '') return undefined
  const branch = mergedAt === null ? refs.get(branchRef(base.ref)) : undefined
  const beforeMerge = mergeCommit && commits.has(mergeCommit) ? `${mergeCommit}^1` : undefined
  let empty: CommitRange | undefined
  for (const start of [commits.has(base.sha) ? base.sha : undefined, branch, beforeMerge]) {
    if (start === undefined) continue
    const found = await readCommits(call, start, head).catch((error: unknown) => {
      call.signal.throwIfAborted()
      if (!(error instanceof GitFailed)) throw error
      return undefined
    })
    if (found && found.commits.length > 0) return found
    empty ??= found
  }
  return empty
}

type PullDiff = ShownDiff & { record: object }

/** Returns undefined, and reports the diff as lost, if there is no range. */
async function readDiff(
  project: Project,
  { number, createdAt }: PullRequest,
  { diffs, range }: { diffs: DiffReader; range: CommitRange | undefined },
): Promise<PullDiff | undefined> {
  const name = `${project.fullName}!${number}`
  if (!range) {
    project.report.addLoss('diffs', 1, `${name}: its commits are not in the input`)
    return undefined
  }
  const { base, start, head, commits } = range
  const diff: Diff =
    commits.length === 0 ? { files: [], isComplete: true } : await diffs.read(base, head)
  const listed = `${name}: only the newest ${commits.length} are listed`
  if (!range.isComplete) project.report.addLoss('commits_of_merge_requests', 1, listed)
  const state = commits.length === 0 ? 'empty' : diff.isComplete ? 'collected' : 'overflow'
  return {
    refs: { base_sha: base, start_sha: start, head_sha: head },
    files: diff.files,
    record: {
      state,
      base_commit_sha: base,
      start_commit_sha: start,
      head_commit_sha: head,
      real_size: state === 'empty' ? null : `${diff.files.length}${diff.isComplete ? '' : '+'}`,
      commits_count: commits.length,
      files_count: diff.files.length,
      ...timestamps(createdAt),
      merge_request_diff_commits: commits,
      merge_request_diff_files: diff.files,
    },
  }
}

/** GitLab recognizes a draft by its title. */
const DRAFT = /^\s*(?:\[draft\]|\(draft\)|draft:)/i

function mergeRequestRecord(
  project: Project,
  pull: PullRequest,
  { head, diff }: { head: PullHead; diff: PullDiff | undefined },
) {
  const { number, draft, mergedAt, closedAt, base } = pull
  const title = draft && !DRAFT.test(pull.title) ? `Draft: ${pull.title}` : pull.title
  const { notes, ...common } = issuable(project, 'MergeRequest', { ...pull, title })
  const events = project.of('issue_events', number)
  const merged = events.findLast(({ event }) => event === 'merged')
  const closed = events.findLast(({ event }) => event === 'closed')
  const state = mergedAt !== null ? 'merged' : closedAt !== null ? 'closed' : 'opened'
  const mergedBy = merged && state === 'merged' ? project.userId(merged.actor) : null
  const manual = pull.closes.filter(({ source }) => source === 'manual')
  project.report.addLoss('linked_issues', manual.length)
  const allNotes = byTime([...notes, ...reviewNotes(project, number, diff)])
  const times = [pull.createdAt, mergedAt, closedAt].flatMap((time) => time ?? [])
  const updatedAt = [...times.map(gitlabTime), ...allNotes.map(({ created_at }) => created_at)]
    .sort()
    .at(-1)
  return {
    ...common,
    state,
    draft,
    source_branch: head.branch,
    target_branch: base.ref,
    source_project_id: PROJECT_ID,
    target_project_id: PROJECT_ID,
    merge_status: 'unchecked',
    merge_user_id: mergedBy,
    merge_commit_sha: state === 'merged' ? (pull.mergeCommit ?? merged?.commit ?? null) : null,
    diff_head_sha: head.sha || null,
    source_branch_sha: head.sha || null,
    target_branch_sha: diff?.refs.start_sha ?? null,
    updated_at: updatedAt,
    metrics: {
      merged_by_id: mergedBy,
      merged_at: gitlabTimeOrNull(mergedAt),
      latest_closed_by_id: closed && state === 'closed' ? project.userId(closed.actor) : null,
      latest_closed_at: state === 'closed' ? gitlabTimeOrNull(closedAt) : null,
      created_at: common.created_at,
      updated_at: updatedAt,
    },
    merge_request_assignees: userIds(project, pull.assignees),
    ...reviewers(project, pull),
    ...(diff && { merge_request_diff: diff.record }),
    notes: allNotes,
  }
}
