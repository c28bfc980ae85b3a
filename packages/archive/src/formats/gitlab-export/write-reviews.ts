import { hash } from 'node:crypto'
import { type DiffLine, diffLines } from '../../records/diff-hunk.ts'
import type {
  PullRequest,
  Review,
  ReviewComment,
  ReviewThread,
  Side,
} from '../../records/pull-request.ts'
import type { DiffFile } from './write-diffs.ts'
import { type Note, noteRecord, systemNote } from './write-discussions.ts'
import { gitlabTime, type Project } from './write-project.ts'

/** The diff that a merge request is shown with. */
export type ShownDiff = { refs: DiffRefs; files: readonly DiffFile[] }

/** Returns the notes of all submitted reviews and their comments. Without a diff, the text of a comment names its line instead. */
export function reviewNotes(project: Project, pull: number, diff: ShownDiff | undefined): Note[] {
  const all = project.of('pull_request_reviews', pull)
  const reviews = all.filter(({ state }) => state !== 'pending')
  project.report.addLoss('pending_reviews', all.length - reviews.length)
  const allThreads = project.of('pull_request_review_threads', pull)
  const threads = new Map(allThreads.map((thread) => [thread.id, thread]))
  const comments = project.of('pull_request_review_comments', pull)
  const submitted = comments.filter(({ state }) => state === 'submitted')
  project.report.addLoss('pending_review_comments', comments.length - submitted.length)
  // Replies have the position of the first comment of their thread, which is the last to be added to the map.
  const roots = new Map(submitted.toReversed().map((comment) => [threadOf(comment), comment]))
  return [
    ...reviews.flatMap((review) => reviewNote(project, review)),
    ...submitted.map((comment) => {
      const thread = threads.get(comment.thread ?? 0)
      return commentNote(project, { comment, root: roots.get(threadOf(comment))!, thread, diff })
    }),
  ]
}

/** Old archives have no threads, but every reply names the first comment. */
const threadOf = ({ thread, inReplyTo, id }: ReviewComment): string =>
  thread === null ? `replies to ${inReplyTo ?? id}` : `thread ${thread}`

const DECISIONS: Readonly<Record<string, [text: string, action?: string]>> = {
  approved: ['approved this merge request', 'approved'],
  changes_requested: ['requested changes'],
}

function reviewNote(project: Project, review: Review): Note[] {
  const { id, author, state, reactions, submittedAt, createdAt } = review
  const common = { author, createdAt: submittedAt ?? createdAt }
  const body = project.text(review.body)
  const [text, action] = DECISIONS[state] ?? []
  project.report.addLoss('dismissals', state === 'dismissed' ? 1 : 0)
  project.report.addLoss('review_reactions', body === '' ? reactions.length : 0)
  const note = { ...common, thread: `review ${id}`, body, reactions }
  const decision = { ...common, thread: `decision ${id}`, body: text ?? '', action }
  return [
    ...(body === ''
      ? []
      : [{ ...noteRecord(project, 'MergeRequest', note), type: 'DiscussionNote' as const }]),
    ...(text === undefined ? [] : [systemNote(project, 'MergeRequest', decision)]),
  ]
}

interface CommentContent {
  comment: ReviewComment
  /** The first comment of its thread. */
  root: ReviewComment
  thread: ReviewThread | undefined
  diff: ShownDiff | undefined
}

function commentNote(project: Project, { comment, root, thread, diff }: CommentContent): Note {
  const position = diff && findPosition(root, thread, diff)
  const { text, suggestions } = rewriteSuggestions(project.text(comment.body), position)
  const record = {
    ...noteRecord(project, 'MergeRequest', { ...comment, thread: threadOf(comment), body: text }),
    ...(thread?.resolvedAt && {
      resolved_at: gitlabTime(thread.resolvedAt),
      resolved_by_id: project.userId(thread.resolver),
    }),
  }
  if (position) return { ...record, type: 'DiffNote', ...position.attributes, suggestions } as Note
  // Only the first comment of a thread names its line.
  if (comment === root) {
    const line = thread?.line ?? thread?.originalLine
    const where = `${project.fullName}!${comment.pull}: ${comment.path}`
    project.report.addLoss('review_comment_positions', 1, where)
    record.note = `\`${comment.path}\`${line ? `, line ${line}` : ''}:\n\n${record.note}`
  }
  return { ...record, type: 'DiscussionNote' }
}

/** Returns the position of a thread, or undefined if it is about a whole file or its line cannot be found. */
function findPosition(root: ReviewComment, thread: ReviewThread | undefined, diff: ShownDiff) {
  const { refs, files } = diff
  if (root.subjectType === 'file') return undefined
  const file = files.find(({ new_path, old_path }) => [new_path, old_path].includes(root.path))
  const paths = file ?? { old_path: root.path, new_path: root.path }
  const hunk = [...diffLines(root.diffHunk)]
  // The last line of the hunk is the line that was commented on.
  const last = hunk.at(-1)
  const side = thread?.side ?? (last?.type === 'old' ? 'left' : 'right')
  const startSide = thread?.startSide ?? side
  const lines = [...diffLines(file?.utf8_diff ?? '')]
  const lastLine = side === 'left' ? last?.oldLine : last?.newLine
  const line = thread ? thread.line : root.position && lastLine
  const current = findLine(lines, side, line)
  const end = current ?? last
  if (!end) return undefined
  const oldRefs = { ...refs, head_sha: root.originalCommit ?? root.commit ?? refs.head_sha }
  const oldStart = findLine(hunk, startSide, thread?.originalStartLine)
  const start = current ? findLine(lines, startSide, thread?.startLine) : oldStart
  const oldPosition = textPosition(oldRefs, paths, last ?? end, last ? oldStart : start)
  const first = start?.newLine ?? end.newLine
  const isCommented = ({ type, newLine }: DiffLine) =>
    type !== 'old' && newLine >= first && newLine <= end.newLine
  return {
    isOutdated: !current && oldRefs.head_sha !== refs.head_sha,
    lines: end.type === 'old' ? [] : (current ? lines : hunk).filter(isCommented),
    attributes: {
      position: current ? textPosition(refs, paths, current, start) : oldPosition,
      original_position: oldPosition,
      line_code: lineCode(paths, end),
      ...(file && last && { note_diff_file: noteDiffFile(file, root.diffHunk) }),
    },
  }
}

/** GitLab shows this hunk beside the note once the diff has changed. */
function noteDiffFile(
  { relative_order, too_large, binary, utf8_diff, ...file }: DiffFile,
  diffHunk: string,
) {
  return { ...file, diff_export: diffHunk }
}

/** Returns the last decision of each reviewer, and requests that nobody answered, as reviewers and approvals. */
export function reviewers(project: Project, { number, author, reviewRequests }: PullRequest) {
  const byUser = new Map<number, { user_id: number; state: string; created_at: string }>()
  for (const review of project.of('pull_request_reviews', number)) {
    if (review.state === 'pending' || review.author === author) continue
    const id = project.userId(review.author)
    const state = REVIEWER_STATES[review.state]
    // The time is that of the decision: a comment after it changes nothing.
    if (state === undefined && byUser.has(id)) continue
    const created_at = gitlabTime(review.submittedAt ?? review.createdAt)
    byUser.set(id, { user_id: id, state: state ?? 'reviewed', created_at })
  }
  for (const { reviewer, createdAt, dismissedAt } of reviewRequests) {
    if (dismissedAt !== null) continue
    if (reviewer.kind === 'team') project.report.addLoss('team_review_requests')
    else {
      const id = project.userId(reviewer.login)
      const created_at = gitlabTime(createdAt)
      if ((byUser.get(id)?.created_at ?? '') < created_at)
        byUser.set(id, { user_id: id, state: 'unreviewed', created_at })
    }
  }
  const all = [...byUser.values()]
  const approvals = all.filter(({ state }) => state === 'approved')
  return {
    merge_request_reviewers: all,
    approvals: approvals.map(({ state, ...each }) => ({ ...each, updated_at: each.created_at })),
  }
}

/** By the state of a review. A comment is missing, because it does not change the decision before it. */
const REVIEWER_STATES: Readonly<Record<string, string>> = {
  approved: 'approved',
  changes_requested: 'requested_changes',
  dismissed: 'reviewed',
}

/** Finds a line by its number in the old or the new file. */
export function findLine(lines: readonly DiffLine[], side: Side, line: number | null | undefined) {
  const [other, counter] =
    side === 'left' ? (['new', 'oldLine'] as const) : (['old', 'newLine'] as const)
  return lines.find((each) => each.type !== other && each[counter] === line)
}

export type DiffRefs = { base_sha: string; start_sha: string; head_sha: string }

type FilePaths = { old_path: string; new_path: string }

export const lineCode = ({ new_path, old_path }: FilePaths, line: DiffLine): string =>
  `${hash('sha1', new_path || old_path)}_${line.oldLine}_${line.newLine}`

const lineNumbers = ({ type, oldLine, newLine }: DiffLine) => ({
  old_line: type === 'new' ? null : oldLine,
  new_line: type === 'old' ? null : newLine,
})

/** Returns the position of a note on `end`, or on the lines from `start` to `end`. */
export function textPosition(refs: DiffRefs, paths: FilePaths, end: DiffLine, start?: DiffLine) {
  const endpoint = (line: DiffLine) => ({
    line_code: lineCode(paths, line),
    type: line.type,
    ...lineNumbers(line),
  })
  const range = start && { line_range: { start: endpoint(start), end: endpoint(end) } }
  const { old_path, new_path } = paths
  return { ...refs, old_path, new_path, position_type: 'text', ...lineNumbers(end), ...range }
}

/** Matches a fenced block whose language is `suggestion`, and captures its fence and its content. */
const SUGGESTION =
  /^( {0,3}(`{3,}|~{3,}))suggestion[ \t]*\r?\n((?:(?! {0,3}\2)[^\n]*\n)*) {0,3}\2/gm

interface SuggestionTarget {
  /** The lines of the new file that a suggestion replaces. */
  lines: readonly DiffLine[]
  isOutdated: boolean
}

/** Returns a text with its suggestions in GitLab's form, whose fence says how many lines they replace, and their records. */
export function rewriteSuggestions(text: string, target: SuggestionTarget | undefined) {
  const suggestions: object[] = []
  if (!target || target.lines.length === 0) return { text, suggestions }
  const above = target.lines.length - 1
  const rewritten = text.replace(SUGGESTION, (block: string, fence: string, _, content: string) => {
    suggestions.push({
      relative_order: suggestions.length,
      applied: false,
      from_content: target.lines.map((line) => `${line.text}\n`).join(''),
      to_content: content.replaceAll('\r\n', '\n'),
      lines_above: above,
      lines_below: 0,
      outdated: target.isOutdated,
    })
    return block.replace(`${fence}suggestion`, `${fence}suggestion:-${above}+0`)
  })
  return { text: rewritten, suggestions }
}
