import type { DiffPosition, ReviewRequest, ReviewState, Side } from '../../records/pull-request.ts'
import { child, isJson, type Json, list, NO_COMMIT, text, time } from './read-fields.ts'
import type { ProjectSpool } from './read-spool.ts'

/**
 * Adds the notes, approvals and reviewers of a merge request, and returns the reviews that are still requested. GitLab has no reviews:
 * the notes of one author in one thread become a review, and so does each approval.
 */
export function readReviews(
  project: ProjectSpool,
  pull: number,
  record: Json,
  headSha: string,
): ReviewRequest[] {
  const on = { kind: 'pull_request', number: pull } as const
  const threads = new Map<string, Json[]>()
  for (const [index, note] of list(record.notes).entries()) {
    const isOnDiff = note.system !== true && note.type === 'DiffNote' && positionOf(note.position)
    const key = text(note.discussion_id) || `${index}`
    const thread = threads.get(key)
    if (isOnDiff || thread) threads.set(key, [...(thread ?? []), note])
    else project.addNote(note, on)
  }
  for (const notes of threads.values()) addThread(project, { pull, record, headSha }, notes)
  return addApprovals(project, pull, record, headSha)
}

function addReview(
  project: ProjectSpool,
  { pull, headSha }: { pull: number; headSha: string | null },
  { user, state, at }: { user: unknown; state: ReviewState; at: string },
): number {
  const [repository, id] = [project.repository, project.nextId()]
  project.add('pull_request_reviews', pull, {
    ...{ repository, pull, id, author: project.people.login(user), body: null, headSha, state },
    ...{ reactions: [], createdAt: at, submittedAt: at },
  })
  return id
}

/** Older exports have an approval only as a system note. */
function addApprovals(
  project: ProjectSpool,
  pull: number,
  record: Json,
  headSha: string,
): ReviewRequest[] {
  const approved = new Map<unknown, ReviewState>()
  const add = (user: unknown, state: ReviewState, at: string) => {
    approved.set(user, state)
    addReview(
      project,
      { pull, headSha: headSha === NO_COMMIT ? null : headSha },
      { user, state, at },
    )
  }
  for (const each of list(record.approvals)) add(each.user_id, 'approved', time(each, 'created_at'))
  const notes = list(record.notes).filter(({ system }) => system === true)
  const actionOf = (note: Json) => child(note.system_note_metadata).action
  for (const [index, note] of notes.entries()) {
    const isTakenBack = notes
      .slice(index + 1)
      .some((later) => later.author_id === note.author_id && actionOf(later) === 'unapproved')
    if (actionOf(note) === 'approved' && !approved.has(note.author_id))
      add(note.author_id, isTakenBack ? 'dismissed' : 'approved', time(note, 'created_at'))
  }
  const requests: ReviewRequest[] = []
  for (const { user_id, state, ...each } of list(record.merge_request_reviewers)) {
    const login = project.people.login(user_id)
    const at = isTime(each.created_at) ? each.created_at : time(record, 'updated_at')
    const reviewState = REVIEWER_STATES[String(state)]
    if (reviewState && approved.get(user_id) !== reviewState) add(user_id, reviewState, at)
    else if (!reviewState && login !== null)
      requests.push({
        ...{ reviewer: { kind: 'user', login }, createdAt: at, updatedAt: at, dismissedAt: null },
      })
  }
  return requests
}

const isTime = (value: unknown): value is string => !Number.isNaN(Date.parse(text(value)))

/** The names of the newest exports, and the numbers of older ones. All other states mean that the review is still requested. */
const REVIEWER_STATES: Readonly<Record<string, ReviewState>> = {
  ...{ reviewed: 'commented', requested_changes: 'changes_requested', approved: 'approved' },
  ...{ 1: 'commented', 2: 'changes_requested', 3: 'approved' },
}

/** The position of a note: an object, or the text of one. */
function positionOf(value: unknown): Json | undefined {
  if (typeof value !== 'string') return isJson(value) ? value : undefined
  try {
    return positionOf(JSON.parse(value) as object)
  } catch {
    return undefined
  }
}

const lineOf = (value: unknown): number | null =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null

interface MergeRequest {
  pull: number
  record: Json
  headSha: string
}

function addThread(
  project: ProjectSpool,
  { pull, record, headSha }: MergeRequest,
  notes: readonly Json[],
): void {
  const [root] = notes
  const position = positionOf(root!.position)!
  const original = positionOf(root!.original_position) ?? position
  const lines = placeOf(position)
  const originalLines = placeOf(original)
  const isOutdated = headSha !== NO_COMMIT && text(position.head_sha) !== headSha
  const path = text(position.new_path) || text(position.old_path)
  const hunk = hunkAt(diffOf(root!, record, path), originalLines)
  const at: DiffPosition = {
    ...{ diffHunk: hunk.diffHunk, path, originalPosition: hunk.position },
    position: isOutdated ? null : hunk.position,
    commit: text(position.head_sha) || null,
    originalCommit: text(original.head_sha) || null,
    subjectType: position.position_type === 'image' ? 'file' : 'line',
  }
  const { repository } = project
  const ids = { thread: project.nextId(), root: 0 }
  const reviews = new Map<unknown, number>()
  for (const [index, note] of notes.entries()) {
    project.people.addName(note.author_id, child(note.author).name)
    const createdAt = time(note, 'created_at')
    const author = project.people.login(note.author_id)
    const review =
      reviews.get(note.author_id) ??
      addReview(
        project,
        { pull, headSha: at.originalCommit },
        { user: note.author_id, state: 'commented', at: createdAt },
      )
    reviews.set(note.author_id, review)
    const id = project.nextId()
    if (index === 0) {
      ids.root = id
      project.add('pull_request_review_threads', pull, {
        ...{ repository, pull, id: ids.thread, review, ...at, side: lines.side },
        ...{ line: isOutdated ? null : lines.line, originalLine: originalLines.line },
        ...{
          startLine: isOutdated ? null : lines.start,
          startSide: lines.start === null ? null : lines.startSide,
        },
        ...{ originalStartLine: originalLines.start, createdAt, outdated: isOutdated },
        resolvedAt: notes.map(({ resolved_at }) => text(resolved_at)).find(isTime) ?? null,
        resolver: project.people.login(
          notes.find(({ resolved_by_id }) => resolved_by_id)?.resolved_by_id,
        ),
      })
    }
    const owner = { kind: 'pull_request_review_comment', pull, id } as const
    project.add('pull_request_review_comments', pull, {
      ...{ repository, pull, id, review, thread: ids.thread, author, ...at, createdAt },
      body: project.noteText(note, owner, { author, createdAt }),
      ...{ state: 'submitted', inReplyTo: index === 0 ? null : ids.root },
      reactions: project.reactions(note),
    })
  }
}

interface Place {
  side: Side
  line: number | null
  /** The first line, if there are several. */
  start: number | null
  startSide: Side
}

function placeOf(position: Json): Place {
  const [oldLine, newLine] = [lineOf(position.old_line), lineOf(position.new_line)]
  const line = newLine ?? oldLine
  const start = child(child(position.line_range).start)
  const first = lineOf(start.new_line) ?? lineOf(start.old_line)
  return {
    ...{ side: newLine === null && oldLine !== null ? 'left' : 'right', line },
    start: first !== null && first !== line ? first : null,
    startSide: lineOf(start.new_line) === null && first !== null ? 'left' : 'right',
  }
}

/** Returns the diff that a note is on: that of the note, or of the file in the newest diff. */
function diffOf(note: Json, record: Json, path: string): string {
  const own = child(note.note_diff_file)
  const files = list(child(record.merge_request_diff).merge_request_diff_files)
  const file = files.find(({ new_path, old_path }) => new_path === path || old_path === path)
  return text(own.diff_export) || text(own.diff) || text(file?.utf8_diff)
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/

/** Returns the hunk up to a line, and the number of lines from the first hunk to it. Importers refuse a comment without a hunk. */
export function hunkAt(
  diff: string,
  { side, line }: Pick<Place, 'side' | 'line'>,
): { diffHunk: string; position: number } {
  const next = { left: 0, right: 0 }
  let hunk: string[] = []
  let position = -1
  for (const each of diff.split('\n')) {
    const head = HUNK.exec(each)
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
