import type { SortedRows } from '../../lib/sorted-rows.ts'
import { type IssueOrPull, type Reaction, UNKNOWN_TIME } from '../../records/fact.ts'
import type { FactKind, FactsByKind } from '../../records/fact-kinds.ts'
import type { IssueEvent } from '../../records/issue.ts'
import type { AttachedTo } from '../../records/release.ts'
import type { Label, Milestone } from '../../records/repository.ts'
import { UNKNOWN_HOST } from '../format.ts'
import type { Report } from '../report.ts'
import { child, integer, type Json, list, text, time, timeOrNull } from './read-fields.ts'
import type { People } from './read-people.ts'
import type { Relations } from './read-relations.ts'
import { decoded, UPLOAD } from './read-text.ts'

export interface ProjectOptions {
  /** `OWNER/NAME` that the project gets. */
  fullName: string
  relations: Relations
  /** Gets the facts, in a table for each kind. */
  rows: SortedRows
  people: People
  report: Report
  /** The paths of uploaded files in the export. */
  uploads: ReadonlySet<string>
}

const REACTION_BY_EMOJI: Readonly<Record<string, string>> = {
  thumbsup: '+1',
  thumbsdown: '-1',
  smile: 'laugh',
  tada: 'hooray',
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ...{
    png: 'image/png',
    jpg: 'image/jpeg',
    jpeg: 'image/jpeg',
    gif: 'image/gif',
    webp: 'image/webp',
  },
  ...{ svg: 'image/svg+xml', pdf: 'application/pdf', txt: 'text/plain', log: 'text/plain' },
  ...{ mp4: 'video/mp4', mov: 'video/quicktime', webm: 'video/webm', zip: 'application/zip' },
}

/** Collects the facts of one project. The facts of a record are added completely or not at all. */
export class ProjectSpool {
  readonly options: ProjectOptions
  readonly people: People
  readonly repository: string
  /** The facts of the current record. */
  #pending: [kind: FactKind, key: number, fact: { createdAt?: string }][] = []
  readonly labels = new Map<string, Label>()
  readonly milestones = new Map<string, Milestone>()
  /** The URLs of uploads that have an attachment. */
  readonly uploadUrls = new Map<string, string>()
  /** The time of the oldest fact. */
  oldest = Number.POSITIVE_INFINITY
  #lastId = 0

  constructor(options: ProjectOptions) {
    this.options = options
    this.people = options.people
    this.repository = options.fullName
  }

  /** Adds the facts of one record, or reports it as lost. */
  try(relation: string, at: string, add: () => void): void {
    this.#pending = []
    try {
      add()
      this.commit()
    } catch (error) {
      for (const [kind, , fact] of this.#pending)
        if (kind === 'attachments' && 'file' in fact)
          this.uploadUrls.delete(String(fact.file).replace(/^attachments/, 'uploads'))
      this.options.report.lostRecord(relation, `${at}: ${(error as Error).message}`)
    }
  }

  commit(): void {
    for (const [kind, key, fact] of this.#pending) {
      const at = Date.parse(fact.createdAt ?? UNKNOWN_TIME)
      if (at > 0) this.oldest = Math.min(this.oldest, at)
      this.options.rows.add(kind, key, at, fact)
    }
    this.#pending = []
  }

  add<K extends FactKind>(kind: K, key: number, fact: FactsByKind[K]): void {
    this.#pending.push([kind, key, fact as { createdAt?: string }])
  }

  /** Exports since 13.6 have no ids. */
  nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }

  /** Labels of groups are only in the links of issues. */
  addLabel(record: Json): string {
    const name = text(record.title)
    if (name === '') throw new Error('the title of a label is missing')
    if (!this.labels.has(name)) {
      const [, short, long] = /^#(?:([0-9a-f]{3})|([0-9a-f]{6}))$/i.exec(text(record.color)) ?? []
      const color = long ?? short?.replace(/./g, '$&$&') ?? '428bca'
      const createdAt = timeOrNull(record.created_at) ?? UNKNOWN_TIME
      const description = text(record.description) || null
      this.labels.set(name, { name, color: color.toLowerCase(), description, createdAt })
      this.options.report.lost('label_priorities', list(record.priorities).length, name)
    }
    return name
  }

  /** Returns the number of a milestone. Those of groups are only in issues, and have numbers of their own in GitLab. */
  milestone(record: Json): number {
    const title = text(record.title)
    if (title === '') throw new Error('the title of a milestone is missing')
    const known = this.milestones.get(title)
    if (known) return known.number
    const taken = new Set([...this.milestones.values()].map(({ number }) => number))
    const own = integer(record, 'iid')
    const number = taken.has(own) ? Math.max(...taken) + 1 : own
    const [createdAt, updatedAt] = [time(record, 'created_at'), time(record, 'updated_at')]
    const state = record.state === 'closed' ? 'closed' : 'open'
    const dueOn = timeOrNull(record.due_date) && `${text(record.due_date)}T00:00:00Z`
    const started = timeOrNull(record.start_date) && `*GitLab: starts on ${record.start_date}*`
    this.milestones.set(title, {
      ...{ repository: this.repository, number, author: null, title, state, dueOn },
      description: [text(record.description), started].filter(Boolean).join('\n\n') || null,
      ...{ createdAt, updatedAt, closedAt: state === 'closed' ? updatedAt : null },
    })
    return number
  }

  reactions(record: Json): Reaction[] {
    return list(record.award_emoji).map((each) => {
      const name = text(each.name)
      const content = REACTION_BY_EMOJI[name] ?? name
      return {
        author: this.people.login(each.user_id),
        content,
        createdAt: time(each, 'created_at'),
      }
    })
  }

  addEvent(
    on: IssueOrPull,
    event: Pick<IssueEvent, 'actor' | 'event' | 'createdAt'> & Partial<IssueEvent>,
  ) {
    this.add('issue_events', on.number, {
      ...event,
      repository: this.repository,
      id: this.nextId(),
      on,
    })
  }

  /** Adds a note that is not on a line of a diff. */
  addNote(note: Json, on: IssueOrPull): void {
    this.people.addName(note.author_id, child(note.author).name)
    const createdAt = time(note, 'created_at')
    if (note.system === true) {
      this.#addSystemNote(note, on, createdAt)
      return
    }
    if (timeOrNull(note.resolved_at)) this.options.report.lost('resolved_comments')
    const id = this.nextId()
    const author = this.people.login(note.author_id)
    const body = this.noteText(note, { kind: 'issue_comment', on, id }, { author, createdAt })
    this.add('issue_comments', on.number, {
      ...{ repository: this.repository, id, on, author, body },
      ...{ reactions: this.reactions(note), createdAt },
    })
  }

  /** Returns the text of a note, with a suggestion that only a field of the note has. */
  noteText(note: Json, on: AttachedTo, by: { author: string | null; createdAt: string }): string {
    const own = text(note.note)
    const suggestions = own.includes('```suggestion') ? [] : list(note.suggestions)
    const internal = note.confidential === true || note.internal === true
    const blocks = suggestions.map((each) => `\`\`\`suggestion\n${text(each.to_content)}\`\`\``)
    const body = [own, ...blocks, ...(internal ? ['*GitLab: internal note*'] : [])].join('\n\n')
    this.findUploads(body, on, by)
    return body
  }

  /** Adds the event that GitLab describes in words. Changes of the state are read elsewhere. */
  #addSystemNote(note: Json, on: IssueOrPull, createdAt: string): void {
    const action = text(child(note.system_note_metadata).action)
    const words = text(note.note)
    const base = { actor: this.people.login(note.author_id), createdAt }
    const loginsAfter = (start: RegExp) =>
      [...(start.exec(words)?.[1] ?? '').matchAll(/@([\w.-]+)/g)].map(([, login]) => login!)
    const [, from, to] = /^changed title from \*\*(.*)\*\* to \*\*(.*)\*\*$/s.exec(words) ?? []
    const plain = (title: string) => title.replace(/\{[-+](.*?)[-+]\}/gs, '$1')
    if (['closed', 'opened', 'merged'].includes(action)) return
    if (from !== undefined && to !== undefined)
      this.addEvent(on, {
        ...base,
        event: 'renamed',
        renamed: { from: plain(from), to: plain(to) },
      })
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
    } else if (action !== 'approved' && action !== 'unapproved')
      this.options.report.lost('system_notes', 1, words.slice(0, 80))
  }

  /** Adds an attachment for each upload that a text links to. The first text that links to a file owns it. */
  findUploads(
    body: string,
    on: AttachedTo,
    by: { author: string | null; createdAt: string },
  ): void {
    for (const [, link] of body.matchAll(UPLOAD)) {
      const path = decoded(link!)
      if (!this.options.uploads.has(path)) this.options.report.lost('attachments', 1, path)
      else if (!this.uploadUrls.has(path)) this.addUpload(path, on, by)
    }
  }

  addUpload(path: string, on: AttachedTo, by: { author: string | null; createdAt: string }): void {
    const [, secret = '', ...rest] = path.split('/')
    const name = rest.join('/')
    const uuid = secret.padEnd(32, '0').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    this.uploadUrls.set(path, `${UNKNOWN_HOST}/user-attachments/assets/${uuid}`)
    const contentType =
      CONTENT_TYPES[/\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? ''] ?? 'application/octet-stream'
    this.add('attachments', 0, {
      ...{ repository: this.repository, uuid, name, contentType, on, ...by },
      file: `attachments/${secret}/${name}`,
    })
  }
}
