import { contentTypeOf } from '@godwit/lib/content-types'
import { isForeignName } from '@godwit/lib/names'
import type { SortedRows } from '@godwit/lib/sorted-rows'
import type { IssueEvent, Reaction } from '../../records/issue.ts'
import { type IssueOrPull, UNKNOWN_TIME } from '../../records/record.ts'
import type { RecordKind, RecordsByKind } from '../../records/record-kinds.ts'
import { decodeSegment } from '../../records/record-urls.ts'
import type { AttachedTo, Attachment } from '../../records/release.ts'
import type { Label, Milestone } from '../../records/repository.ts'
import { type Report, UNKNOWN_HOST } from '../format.ts'
import { EMOJI_BY_REACTION } from './constants.ts'
import type { People } from './read-people.ts'
import {
  actionOf,
  child,
  dayOrNull,
  integer,
  type Json,
  list,
  paragraphs,
  type Relations,
  text,
  time,
  timeOrNull,
} from './read-relations.ts'
import { UPLOAD } from './rewrite-text.ts'

export interface ProjectOptions {
  /** `OWNER/NAME` that the project gets. */
  fullName: string
  relations: Relations
  /** Gets the records, in a table for each kind. */
  rows: SortedRows
  people: People
  report: Report
  /** The uploaded files of the export, by the path that texts link to. */
  uploads: ReadonlyMap<string, UploadedFile>
  signal: AbortSignal
}

export interface UploadedFile {
  /** The path in the export. */
  path: string
  /** The secret, or another one if several files have it. */
  uuid: string
  name: string
  /** The `file` of the attachment. */
  file: string
}

const REACTION_BY_EMOJI = new Map(
  [...EMOJI_BY_REACTION].map(([reaction, emoji]) => [emoji, reaction]),
)

/** Who wrote a text, and when. */
type Authorship = Pick<Attachment, 'author' | 'createdAt'>

/** Collects the records of one project. Those of a relation are added completely or not at all. */
export class ProjectRecords {
  readonly options: ProjectOptions
  readonly people: People
  readonly repository: string
  /** The records of the current relation, and the paths of the uploads that they add. */
  #pending: [kind: RecordKind, key: number, record: { createdAt?: string }][] = []
  #pendingUploads: string[] = []
  readonly labels = new Map<string, Label>()
  readonly milestones = new Map<string, Milestone>()
  /** The new URLs of uploads, by path. Each has an attachment. */
  readonly uploadUrls = new Map<string, string>()
  /** Where notes are that only members could read, such as `#12`. */
  readonly internalNotes = new Set<string>()
  /** The time of the oldest record. */
  oldest = Number.POSITIVE_INFINITY
  #lastId = 0

  constructor(options: ProjectOptions) {
    this.options = options
    this.people = options.people
    this.repository = options.fullName
  }

  /** Calls `add`, which adds the records of one relation. If it throws, none is kept, and the relation is reported as a loss. */
  addRelation(relation: string, at: string, add: () => void): void {
    this.#pending = []
    this.#pendingUploads = []
    try {
      add()
      this.commit()
    } catch (error) {
      // The next text that links to an upload of this record adds it again.
      for (const path of this.#pendingUploads) this.uploadUrls.delete(path)
      this.options.report.addSkippedRecord(relation, `${at}: ${(error as Error).message}`)
    }
  }

  /** Writes the records of the current relation. */
  commit(): void {
    for (const [kind, key, record] of this.#pending) {
      const at = Date.parse(record.createdAt ?? UNKNOWN_TIME)
      if (at > 0) this.oldest = Math.min(this.oldest, at)
      this.options.rows.add(kind, key, at, record)
    }
    this.#pending = []
  }

  add<K extends RecordKind>(kind: K, key: number, record: RecordsByKind[K]): void {
    this.#pending.push([kind, key, record as { createdAt?: string }])
  }

  /** Returns a new id. Exports since GitLab 13.6 have none. */
  nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }

  /** Adds a label, unless it is known, and returns its name. Labels of groups occur only in issues and merge requests. */
  addLabel(record: Json): string {
    const name = text(record.title)
    if (name === '') throw new Error('the title of a label is missing')
    if (!this.labels.has(name)) {
      const [, short, long] = /^#(?:([0-9a-f]{3})|([0-9a-f]{6}))$/i.exec(text(record.color)) ?? []
      const color = long ?? short?.replace(/./g, '$&$&') ?? '428bca'
      const createdAt = timeOrNull(record.created_at) ?? UNKNOWN_TIME
      const description = text(record.description) || null
      this.labels.set(name, { name, color: color.toLowerCase(), description, createdAt })
      this.options.report.addLoss('label_priorities', list(record.priorities).length, name)
    }
    return name
  }

  /**
   * Adds a milestone, unless it is known, and returns its number. Milestones of groups occur only in issues and merge requests; GitLab
   * numbers them separately, so they may get a new number.
   */
  addMilestone(record: Json): number {
    const title = text(record.title)
    if (title === '') throw new Error('the title of a milestone is missing')
    const known = this.milestones.get(title)
    if (known) return known.number
    const taken = new Set([...this.milestones.values()].map(({ number }) => number))
    const iid = integer(record, 'iid')
    const number = taken.has(iid) ? Math.max(...taken) + 1 : iid
    const [createdAt, updatedAt] = [time(record, 'created_at'), time(record, 'updated_at')]
    const state = record.state === 'closed' ? 'closed' : 'open'
    const [due, start] = [dayOrNull(record.due_date), dayOrNull(record.start_date)]
    if (record.due_date != null && due === null)
      this.options.report.addLoss('due_dates', 1, `${title}: ${record.due_date}`)
    this.milestones.set(title, {
      repository: this.repository,
      number,
      author: null,
      title,
      state,
      dueOn: due && `${due}T00:00:00Z`,
      description:
        paragraphs(text(record.description), start && `*GitLab: starts on ${start}*`) || null,
      createdAt,
      updatedAt,
      closedAt: state === 'closed' ? updatedAt : null,
    })
    return number
  }

  reactions(record: Json): Reaction[] {
    return list(record.award_emoji).map((each) => ({
      author: this.people.login(each.user_id),
      content: REACTION_BY_EMOJI.get(text(each.name)) ?? text(each.name),
      createdAt: timeOrNull(each.created_at) ?? UNKNOWN_TIME,
    }))
  }

  addEvent(
    on: IssueOrPull,
    event: Pick<IssueEvent, 'actor' | 'event' | 'createdAt'> & Partial<IssueEvent>,
  ) {
    const ids = { repository: this.repository, id: this.nextId(), on }
    this.add('issue_events', on.number, { ...event, ...ids })
  }

  /** Adds a note that is not on a line of a diff. */
  addNote(note: Json, on: IssueOrPull): void {
    if (note.system === true) {
      this.#addSystemNote(note, on)
      return
    }
    if (timeOrNull(note.resolved_at)) this.options.report.addLoss('resolved_comments')
    const [id, by] = [this.nextId(), this.authorship(note)]
    this.add('issue_comments', on.number, {
      repository: this.repository,
      id,
      on,
      ...by,
      body: this.noteText(note, { kind: 'issue_comment', on, id }, by),
      reactions: this.reactions(note),
    })
  }

  /** Returns who wrote a text, and when. */
  authorship(record: Json): Authorship {
    this.people.addName(record.author_id, child(record.author).name)
    return { createdAt: time(record, 'created_at'), author: this.people.login(record.author_id) }
  }

  /** Returns the text of a note, and adds its uploads. Suggestions that the text lacks are appended. */
  noteText(note: Json, on: Extract<AttachedTo, { id: number }>, by: Authorship): string {
    const noteText = text(note.note)
    const suggestions = noteText.includes('```suggestion') ? [] : list(note.suggestions)
    const isInternal = note.confidential === true || note.internal === true
    const blocks = suggestions.map((each) => `\`\`\`suggestion\n${text(each.to_content)}\`\`\``)
    const body = [noteText, ...blocks, ...(isInternal ? ['*GitLab: internal note*'] : [])].join(
      '\n\n',
    )
    if (isInternal)
      this.internalNotes.add(
        'commit' in on ? on.commit : `#${'pull' in on ? on.pull : on.on.number}`,
      )
    this.addUploads(body, on, by)
    return body
  }

  /** Adds the event that a system note describes in words. Changes of the state, and approvals, are read elsewhere. */
  #addSystemNote(note: Json, on: IssueOrPull): void {
    this.people.addName(note.author_id, child(note.author).name)
    const createdAt = time(note, 'created_at')
    const action = actionOf(note)
    if (['closed', 'opened', 'merged', 'approved', 'unapproved'].includes(action)) return
    const words = text(note.note)
    const base = { actor: this.people.login(note.author_id), createdAt }
    const loginsAfter = (start: RegExp) =>
      [...(start.exec(words)?.[1] ?? '').matchAll(/@([\w.-]+)/g)]
        .map(([, login]) => login!)
        .filter(isForeignName)
    const [, from, to] = /^changed title from \*\*(.*)\*\* to \*\*(.*)\*\*$/s.exec(words) ?? []
    // GitLab marks the changed parts of a title, as in `{-old-}` and `{+new+}`.
    const plain = (title: string) => title.replace(/\{[-+](.*?)[-+]\}/gs, '$1')
    const renamed = { from: plain(from ?? ''), to: plain(to ?? '') }
    if (from !== undefined) this.addEvent(on, { ...base, event: 'renamed', renamed })
    else if (action === 'locked' || action === 'unlocked')
      this.addEvent(on, { ...base, event: action })
    else if (action === 'assignee') {
      const add = (event: string, login: string) => {
        this.people.mention(login)
        this.addEvent(on, { ...base, event, subject: { kind: 'user', login } })
      }
      for (const login of loginsAfter(/(?<!un)assigned to (.*?)(?: and unassigned|$)/s))
        add('assigned', login)
      for (const login of loginsAfter(/unassigned (.*)$/s)) add('unassigned', login)
    } else {
      const event = this.#eventOf(words)
      if (event) this.addEvent(on, { ...base, ...event })
      else this.loseSystemNote(note)
    }
  }

  /** Returns what a system note says that has the same words in all versions of GitLab. */
  #eventOf(words: string): (Partial<IssueEvent> & Pick<IssueEvent, 'event'>) | undefined {
    const [, commit] = /^mentioned in commit ([0-9a-f]{40}|[0-9a-f]{64})$/.exec(words) ?? []
    if (commit) return { event: 'referenced', commit, commitRepository: this.repository }
    const [, from, to] = /^changed target branch from `(.+)` to `(.+)`$/.exec(words) ?? []
    if (from && to) return { event: 'base_ref_changed', renamed: { from, to } }
    const [, draft] = /^marked this merge request as \*\*(draft|ready)\*\*$/.exec(words) ?? []
    if (draft === undefined) return undefined
    return { event: draft === 'draft' ? 'convert_to_draft' : 'ready_for_review' }
  }

  loseSystemNote(note: Json): void {
    this.options.report.addLoss('system_notes', 1, text(note.note).slice(0, 80))
  }

  /** Adds an attachment for each upload that a text links to. The first text that links to a file owns it. */
  addUploads(body: string, on: AttachedTo, by: Authorship): void {
    for (const [, link] of body.matchAll(UPLOAD)) {
      const path = decodeSegment(link!)
      if (!this.options.uploads.has(path)) this.options.report.addLoss('attachments', 1, path)
      else if (!this.uploadUrls.has(path)) this.addUpload(path, on, by)
    }
  }

  addUpload(link: string, on: AttachedTo, by: Authorship): void {
    const { uuid, name, file } = this.options.uploads.get(link)!
    const oldUrl = `${UNKNOWN_HOST}/user-attachments/assets/${uuid}`
    this.uploadUrls.set(link, oldUrl)
    this.#pendingUploads.push(link)
    const contentType = contentTypeOf(name)
    const record = { repository: this.repository, uuid, name, contentType, on, oldUrl, ...by, file }
    this.add('attachments', 0, record)
  }
}
