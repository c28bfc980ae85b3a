import { oneOf, type Shape } from '@godwit/lib/json-shape'
import { numberOf, reactionsTo, subjectUrl, triage } from './issue.ts'
import type { IssueOrPull, RecordOfRepository } from './record.ts'
import * as field from './record-fields.ts'
import * as link from './record-urls.ts'

export type PullRequestHead = ReturnType<typeof headRecord>
const headRecord = field.recordFormat({
  /** The name of the branch, without `refs/heads/`. */
  ref: field.string,
  sha: field.shaOrEmpty,
  /** The owner of the repository that has the branch. Set even if that repository was deleted. */
  user: field.named('owner', field.personOrNull),
  /** Null if the fork was deleted. The base repository still has the commits, in `refs/pull/N/head`. */
  repo: field.named('repository', field.orNull(field.repository)),
})

const baseFormat = field.recordFormat({
  ref: field.string,
  /** The head of the base branch, or what it was when the pull request was closed: since then it may contain the commits. */
  sha: field.shaOrEmpty,
  user: field.written((_base, urls, { repository }: RecordOfRepository) =>
    urls.person(repository.split('/', 1)[0]!),
  ),
  repo: field.written((_base, urls, { repository }: RecordOfRepository) =>
    urls.repository(repository),
  ),
})

export type ReviewRequest = ReturnType<typeof reviewRequestRecord>
const reviewRequestRecord = field.recordFormat({
  reviewer: field.codec(link.reviewer, subjectUrl),
  reviewer_type: field.written(({ reviewer }: { reviewer: { kind: 'user' | 'team' } }) =>
    reviewer.kind === 'team' ? 'Team' : 'User',
  ),
  created_at: field.timeOrUnknown,
  updated_at: field.updatedAt,
  dismissed_at: field.timeOr(null),
})

/** A link that becomes the repository and, as `name`, the number of an issue or a pull request. */
const numbered = <const N extends string>(name: N, kind: IssueOrPull['kind']) => {
  type Numbered = RecordOfRepository & { [K in N]: number }
  const part: field.Part<Numbered> = {
    read(read, key) {
      const { repository, number } = read(key, link.issueOrPull)
      return { repository, [name]: number } as Numbered
    },
    write: (record: Numbered, urls, key) => ({
      [key]: urls.issueOrPull(record.repository, { kind, number: record[name] }),
    }),
  }
  return part
}

const closingReferenceRecord = field.recordFormat({
  /** The repository can differ from that of the pull request. */
  issue: numbered('issue', 'issue'),
  issue_repository: field.written(({ repository }: RecordOfRepository, urls) =>
    urls.repository(repository),
  ),
  actor: field.personOrNull,
  /** `xref` for a keyword in the body, `manual` for a link that a user added. */
  source: field.string,
  created_at: field.timeOrUnknown,
})

/** A pull request is open while `closedAt` is null, and merged if `mergedAt` is set. */
export type PullRequest = ReturnType<typeof pullRequestRecord>
export const pullRequestRecord = field.recordFormat({
  type: field.constant('pull_request'),
  url: numberOf('pull_request'),
  user: field.author,
  repository: field.repository,
  title: field.string,
  body: field.stringOrNull,
  base: baseFormat,
  head: headRecord,
  ...triage,
  reactions: reactionsTo('Issue'),
  review_requests: field.listOrEmpty(reviewRequestRecord),
  /** The issues that are closed when the pull request is merged. */
  close_issue_references: field.named('closes', field.listOrEmpty(closingReferenceRecord)),
  work_in_progress: field.named('draft', field.booleanOrFalse),
  merged_at: field.timeOrNull,
  closed_at: field.timeOrNull,
  created_at: field.time,
  /** The SHA of the merge commit. Null if the pull request is not merged. Undefined in archives from before 2024. */
  merge_commit_sha: field.named('mergeCommit', field.ifPresent(field.shaOrNull)),
})

interface RecordOfPullRequest extends RecordOfRepository {
  pull: number
}

const pullRequest = numbered('pull', 'pull_request')

/** The id of a review, a thread or a comment of the same pull request, from its URL. */
const idIn = <T>(shape: Shape<T>, kind: 'review' | 'reviewThread' | 'reviewComment') =>
  field.codec(shape, (id, urls, { repository, pull }: RecordOfPullRequest) =>
    urls[kind](repository, pull, id as number | null),
  )
const idOrNull = link.orNull(link.id)
const review = idIn(idOrNull, 'review')

export type ReviewState = 'pending' | 'commented' | 'changes_requested' | 'approved' | 'dismissed'

/** Archives contain the state of a review as a number. */
const STATE_BY_NUMBER = new Map<number, ReviewState>([
  [0, 'pending'],
  [1, 'commented'],
  [30, 'changes_requested'],
  [40, 'approved'],
  [50, 'dismissed'],
])
const NUMBER_BY_STATE = new Map([...STATE_BY_NUMBER].map(([number, state]) => [state, number]))

/** When the review was started, or `submittedAt` if the host does not know that. Only a submitted review may lack it. */
const startedAt: field.Part<{ createdAt: string }> = {
  read(read, key) {
    const submittedAt = read('submitted_at', field.timeOrNull)
    const time = submittedAt === null ? field.time : field.withDefault(field.time, submittedAt)
    return { createdAt: read(key, time) }
  },
  write: ({ createdAt }: { createdAt: string }, _urls, key) => ({ [key]: createdAt }),
}

export type Review = ReturnType<typeof reviewRecord>
export const reviewRecord = field.recordFormat({
  type: field.constant('pull_request_review'),
  url: field.named('id', idIn(link.id, 'review')),
  pull_request: pullRequest,
  user: field.author,
  body: field.stringOrNull,
  /** The head of the pull request at the time of the review. */
  head_sha: field.shaOrNull,
  formatter: field.constant('markdown'),
  state: field.codec(
    (value, at) => STATE_BY_NUMBER.get(oneOf(...STATE_BY_NUMBER.keys())(value, at))!,
    (state) => NUMBER_BY_STATE.get(state),
  ),
  reactions: reactionsTo('PullRequestReview'),
  created_at: startedAt,
  submitted_at: field.timeOrNull,
  /** Whether it counts for the protection of the branch. Undefined for other hosts than Gitea and Forgejo. */
  official: field.optional(field.boolean),
})

/** The side of a diff: `left` is the old file, `right` is the new file. */
export type Side = 'left' | 'right'
const side = oneOf<Side>('left', 'right')

const diffPosition = {
  /** Exports never leave it empty, because importers reject that. Empty if it is missing in an archive that is read. */
  diff_hunk: field.withDefault(field.string, ''),
  path: field.string,
  /** The number of lines below the first `@@` in the current diff. Null if the comment is outdated. */
  position: field.countOrNull,
  /** The number of lines below the first `@@` in the diff that was commented on. */
  original_position: field.countOrNull,
  commit_id: field.named('commit', field.shaOrNull),
  original_commit_id: field.named('originalCommit', field.shaOrNull),
}

/** Undefined in archives from before 2023, and for unknown values. */
const subjectType: Shape<'line' | 'file' | undefined> = (value) =>
  value === 'line' || value === 'file' ? value : undefined

export type DiffPosition = field.RecordOf<
  typeof diffPosition & { subject_type: typeof subjectType }
>

/** A root comment with its replies. The REST API has no threads, so a thread is created for each root comment. */
export type ReviewThread = ReturnType<typeof reviewThreadRecord>
export const reviewThreadRecord = field.recordFormat({
  type: field.constant('pull_request_review_thread'),
  url: field.named('id', idIn(link.id, 'reviewThread')),
  pull_request: pullRequest,
  /** The id of the review that started the thread. */
  pull_request_review: field.named('review', review),
  ...diffPosition,
  /** The first line if the thread is about several lines. Null for a single line. */
  start_line: field.countOrNull,
  /** The line number in the file on `side`; the last line if there are several. Null if the thread is outdated. */
  line: field.countOrNull,
  start_side: field.withDefault(side, null),
  side: field.withDefault(side, 'right'),
  original_start_line: field.countOrNull,
  original_line: field.countOrNull,
  created_at: field.time,
  resolved_at: field.timeOrNull,
  resolver: field.personOrNull,
  subject_type: subjectType,
  outdated: field.optional(field.boolean),
})

/** Archives contain the state of a review comment as one of these numbers. */
const PENDING = 0
const SUBMITTED = 1

export type ReviewComment = ReturnType<typeof reviewCommentRecord>
export const reviewCommentRecord = field.recordFormat({
  type: field.constant('pull_request_review_comment'),
  url: field.named('id', idIn(link.id, 'reviewComment')),
  pull_request: pullRequest,
  pull_request_review: field.named('review', review),
  pull_request_review_thread: field.named('thread', idIn(idOrNull, 'reviewThread')),
  user: field.author,
  body: field.stringOrNull,
  formatter: field.constant('markdown'),
  ...diffPosition,
  /** A pending comment belongs to a review that has not been submitted yet. */
  state: field.codec<'pending' | 'submitted'>(
    (value, at) =>
      value == null || oneOf(PENDING, SUBMITTED)(value, at) ? 'submitted' : 'pending',
    (state) => (state === 'pending' ? PENDING : SUBMITTED),
  ),
  /** The id of the comment that this one replies to. Null for the first comment of a thread. */
  in_reply_to: idIn(idOrNull, 'reviewComment'),
  reactions: reactionsTo('PullRequestReviewComment'),
  created_at: field.time,
  subject_type: subjectType,
})

interface OnCommit extends RecordOfRepository {
  commit: string
}

export type CommitComment = ReturnType<typeof commitCommentRecord>
export const commitCommentRecord = field.recordFormat({
  type: field.constant('commit_comment'),
  url: field.named('id', link.id, (id, urls, { repository, commit }: OnCommit) =>
    urls.commitComment(repository, commit, id),
  ),
  repository: field.repository,
  user: field.author,
  body: field.stringOrNull,
  formatter: field.constant('markdown'),
  /** Null for a comment on the whole commit. */
  path: field.stringOrNull,
  /** The number of lines below the first `@@` in the diff of the file. */
  position: field.countOrNull,
  commit_id: field.named('commit', field.sha),
  reactions: reactionsTo('CommitComment'),
  created_at: field.time,
})
