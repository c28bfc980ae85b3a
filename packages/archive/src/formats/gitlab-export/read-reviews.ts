import { HUNK_HEADER } from '../../records/diff-hunk.ts'
import type { DiffPosition, ReviewRequest, ReviewState, Side } from '../../records/pull-request.ts'
import { NO_COMMIT } from '../../records/record.ts'
import type { ProjectRecords } from './project-records.ts'
import {
  actionOf,
  child,
  integerOrNull,
  isJson,
  type Json,
  list,
  text,
  time,
  timeOrNull,
} from './read-relations.ts'

interface MergeRequest {
  /** The new number. */
  pull: number
  record: Json
  headSha: string
}

/**
 * Adds the notes, approvals and reviewers of a merge request, and returns the reviews that are still requested. GitLab has no reviews:
 * the notes of one author in one thread become a review, and so does each approval.
 */
export function readReviews(project: ProjectRecords, mergeRequest: MergeRequest): ReviewRequest[] {
  const on = { kind: 'pull_request', number: mergeRequest.pull } as const
  const threads = new Map<string, Json[]>()
  for (const [index, note] of list(mergeRequest.record.notes).entries()) {
    const isOnDiff = note.type === 'DiffNote' && positionOf(note.position)
    const key = text(note.discussion_id) || `${index}`
    const thread = threads.get(key)
    // GitLab also adds system notes to a thread, such as that the line was changed.
    if (note.system !== true && (isOnDiff || thread)) threads.set(key, [...(thread ?? []), note])
    else if (!isChangeRequest(note)) {
      if (text(note.type).endsWith('DiffNote'))
        project.options.report.addLoss('review_comment_positions')
      project.addNote(note, on)
    }
  }
  for (const notes of threads.values()) addThread(project, mergeRequest, notes)
  return addDecisions(project, mergeRequest)
}

function addReview(
  project: ProjectRecords,
  { pull, headSha }: { pull: number; headSha: string | null },
  { user, state, at }: { user: unknown; state: ReviewState; at: string },
): number {
  const [repository, id] = [project.repository, project.nextId()]
  project.add('pull_request_reviews', pull, {
    repository,
    pull,
    id,
    author: project.people.login(user),
    body: null,
    headSha,
    state,
    reactions: [],
    createdAt: at,
    submittedAt: at,
  })
  return id
}

/** Adds a review for each approval and each reviewer with a decision. Returns the requests of all other reviewers. */
function addDecisions(project: ProjectRecords, { pull, record, headSha }: MergeRequest) {
  const decisions = new Map<unknown, ReviewState>()
  const updatedAt = time(record, 'updated_at')
  const reviewed = { pull, headSha: headSha === NO_COMMIT ? null : headSha }
  const add = (user: unknown, state: ReviewState, at: string) => {
    decisions.set(user, state)
    addReview(project, reviewed, { user, state, at })
  }
  const requested = list(record.notes).filter(isChangeRequest)
  for (const note of requested) add(note.author_id, 'changes_requested', time(note, 'created_at'))
  for (const each of list(record.approvals))
    add(each.user_id, 'approved', timeOrNull(each.created_at) ?? updatedAt)
  // Older exports have an approval only as a system note. Newer ones list those that a push or their author did not revoke, but
  // exports of Godwit do not list that of the author of a merge request.
  const isListed = Array.isArray(record.approvals)
  const notes = list(record.notes)
  const reviewers = list(record.merge_request_reviewers)
  /** Returns whether a reviewer requested changes after they approved, which is why the approval is not listed. */
  const isSuperseded = (note: Json) =>
    reviewers.some(
      ({ user_id, state, created_at }) =>
        user_id === note.author_id &&
        REVIEWER_STATES[String(state)] === 'changes_requested' &&
        Date.parse(text(created_at)) > Date.parse(time(note, 'created_at')),
    )
  for (const [index, note] of notes.entries()) {
    if (actionOf(note) !== 'approved' || decisions.get(note.author_id) === 'approved') continue
    const isRevoked =
      (isListed && note.author_id !== record.author_id && !isSuperseded(note)) ||
      notes
        .slice(index + 1)
        .some((later) => later.author_id === note.author_id && actionOf(later) === 'unapproved')
    add(note.author_id, isRevoked ? 'dismissed' : 'approved', time(note, 'created_at'))
  }
  const requests: ReviewRequest[] = []
  for (const { user_id, state, ...each } of reviewers) {
    const login = project.people.login(user_id)
    const at = timeOrNull(each.created_at) ?? updatedAt
    const reviewState = REVIEWER_STATES[String(state)]
    const isKnown =
      decisions.get(user_id) === reviewState ||
      (reviewState === 'changes_requested' && requested.some((each) => each.author_id === user_id))
    if (reviewState && !isKnown) add(user_id, reviewState, at)
    else if (!reviewState && login !== null) {
      const reviewer = { kind: 'user', login } as const
      requests.push({ reviewer, createdAt: at, updatedAt: at, dismissedAt: null })
    }
  }
  return requests
}

/** Returns whether a system note of a merge request says that a reviewer requested changes. */
const isChangeRequest = (note: Json): boolean =>
  note.system === true && text(note.note) === 'requested changes'

/** By the name of GitLab's state in the newest exports, and by its number in older ones. In any other state, the review is requested. */
const REVIEWER_STATES: Readonly<Record<string, ReviewState>> = {
  reviewed: 'commented',
  requested_changes: 'changes_requested',
  approved: 'approved',
  1: 'commented',
  2: 'changes_requested',
  3: 'approved',
}

/** Returns the position of a note, which is an object or its JSON. */
export function positionOf(value: unknown): Json | undefined {
  if (typeof value !== 'string') return isJson(value) ? value : undefined
  try {
    return positionOf(JSON.parse(value) as object)
  } catch {
    return undefined
  }
}

/** Matches a fence of GitLab, and captures how many lines around the commented one a suggestion replaces. */
const SUGGESTION = /^( {0,3}```suggestion):-(\d+)\+(\d+)/gm

/** Adds the notes of a thread on a diff. The first one has the position. */
function addThread(
  project: ProjectRecords,
  { pull, record, headSha }: MergeRequest,
  notes: readonly Json[],
): void {
  const [root] = notes
  const position = positionOf(root!.position)!
  const original = positionOf(root!.original_position) ?? position
  const lines = commentedLines(position)
  const originalLines = commentedLines(original)
  const isOutdated = headSha !== NO_COMMIT && text(position.head_sha) !== headSha
  const path = text(position.new_path) || text(position.old_path)
  const hunk = hunkAt(diffOf(root!, record, path), originalLines)
  const diffPosition: DiffPosition = {
    diffHunk: hunk.diffHunk,
    path,
    originalPosition: hunk.position,
    position: isOutdated ? null : hunk.position,
    commit: text(position.head_sha) || null,
    originalCommit: text(original.head_sha) || null,
    subjectType: /^(?:file|image)$/.test(text(position.position_type)) ? 'file' : 'line',
  }
  const { repository } = project
  const { line, start, startSide } = originalLines
  const linesAbove = start === null || startSide === 'left' ? 0 : line! - start
  /** A suggestion of GitHub replaces the commented lines. One that replaces others stays a block of code. */
  const convertSuggestions = (body: string) =>
    body.replace(SUGGESTION, (fence, plain: string, above: string, below: string) => {
      if (Number(above) === linesAbove && Number(below) === 0) return plain
      project.options.report.addLoss('suggestion_ranges', 1, `${repository}#${pull}: ${path}`)
      return fence
    })
  const ids = { thread: project.nextId(), root: 0 }
  const reviews = new Map<unknown, number>()
  for (const [index, note] of notes.entries()) {
    const by = project.authorship(note)
    const { createdAt } = by
    const review =
      reviews.get(note.author_id) ??
      addReview(
        project,
        { pull, headSha: diffPosition.originalCommit },
        { user: note.author_id, state: 'commented', at: createdAt },
      )
    reviews.set(note.author_id, review)
    const id = project.nextId()
    if (index === 0) {
      ids.root = id
      project.add('pull_request_review_threads', pull, {
        repository,
        pull,
        id: ids.thread,
        review,
        ...diffPosition,
        side: lines.side,
        line: isOutdated ? null : lines.line,
        originalLine: originalLines.line,
        startLine: isOutdated ? null : lines.start,
        startSide: lines.start === null ? null : lines.startSide,
        originalStartLine: originalLines.start,
        createdAt,
        outdated: isOutdated,
        resolvedAt: notes.map(({ resolved_at }) => timeOrNull(resolved_at)).find(Boolean) ?? null,
        resolver: project.people.login(
          notes.find(({ resolved_by_id }) => resolved_by_id)?.resolved_by_id,
        ),
      })
    }
    const owner = { kind: 'pull_request_review_comment', pull, id } as const
    project.add('pull_request_review_comments', pull, {
      repository,
      pull,
      id,
      review,
      thread: ids.thread,
      ...by,
      ...diffPosition,
      body: project.noteText({ ...note, note: convertSuggestions(text(note.note)) }, owner, by),
      state: 'submitted',
      inReplyTo: index === 0 ? null : ids.root,
      reactions: project.reactions(note),
    })
  }
}

interface CommentedLines {
  side: Side
  /** The last line, if there are several. */
  line: number | null
  /** The first line, or null if there is only one. */
  start: number | null
  startSide: Side
}

function commentedLines(position: Json): CommentedLines {
  const [oldLine, newLine] = [integerOrNull(position.old_line), integerOrNull(position.new_line)]
  const line = newLine ?? oldLine
  const side = newLine === null && oldLine !== null ? 'left' : 'right'
  const start = child(child(position.line_range).start)
  const startLine = start.type === 'old' ? null : integerOrNull(start.new_line)
  const first = startLine ?? integerOrNull(start.old_line)
  const startSide = startLine === null && first !== null ? 'left' : 'right'
  // A changed line has the same number on both sides.
  const isRange = first !== null && (first !== line || startSide !== side)
  return { side, line, start: isRange ? first : null, startSide }
}

/** Returns the diff of the file that a note is on: the copy in the note, or else the newest one. */
function diffOf(note: Json, record: Json, path: string): string {
  const diffFile = child(note.note_diff_file)
  const files = list(child(record.merge_request_diff).merge_request_diff_files)
  const file = files.find(({ new_path, old_path }) => new_path === path || old_path === path)
  return withHeader(text(diffFile.diff_export) || text(diffFile.diff)) || text(file?.utf8_diff)
}

/** GitLab copies a hunk at the top of a file, such as that of a new file, without its header. */
function withHeader(diff: string): string {
  if (diff === '' || /^(?:--- .*\n\+\+\+ .*\n)?@@/.test(diff)) return diff
  const [hunk = ''] = diff.split('\n@@', 1)
  const range = (line: RegExp) => {
    const count = hunk.match(line)?.length ?? 0
    return `${Math.min(count, 1)},${count}`
  }
  return `@@ -${range(/^[ -]/gm)} +${range(/^[ +]/gm)} @@\n${diff}`
}

/**
 * Returns the hunk up to a line, and the number of lines from the first hunk header to it. If the diff lacks the line, the hunk is only
 * a header, because importers refuse a comment without a hunk.
 */
function hunkAt(diff: string, { side, line }: CommentedLines) {
  const next = { left: 0, right: 0 }
  let hunk: string[] = []
  let position = -1
  for (const each of diff.split('\n')) {
    const head = HUNK_HEADER.exec(each)
    if (head) hunk = []
    else if (position < 0) continue
    position += 1
    hunk.push(each)
    if (head) Object.assign(next, { left: Number(head[1]), right: Number(head[2]) })
    if (head || each.startsWith('\\')) continue
    const isIn = { left: !each.startsWith('+'), right: !each.startsWith('-') }
    if (isIn[side] && next[side] === line) return { diffHunk: hunk.join('\n'), position }
    if (isIn.left) next.left += 1
    if (isIn.right) next.right += 1
  }
  const at = line ?? 1
  return { diffHunk: `@@ -${at},1 +${at},1 @@`, position: 1 }
}
