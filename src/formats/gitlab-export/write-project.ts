import type { SortedRows } from '../../lib/sorted-rows.ts'
import type { Author, Reaction } from '../../records/fact.ts'
import type { FactKind, FactsByKind } from '../../records/fact-kinds.ts'
import type { Label, Milestone, Repository } from '../../records/repository.ts'
import type { PeopleMap } from '../people.ts'
import type { Report } from '../report.ts'
import { EMOJI_BY_REACTION } from './constants.ts'
import { sha1 } from './write-positions.ts'

/** Reads the facts of one repository, and keeps what its records share: labels, milestones and the ids of accounts. */
export class Project {
  readonly fullName: string
  readonly repository: Repository
  readonly report: Report
  readonly labels = new Map<string, ReturnType<typeof labelRecord>>()
  readonly milestones = new Map<number, ReturnType<typeof milestoneRecord>>()
  /** Returns a text with its references and links in GitLab's form. */
  readonly text: (body: string | null) => string
  readonly #rows: SortedRows
  readonly #people: PeopleMap
  readonly #ids = new Map<string, number>()

  constructor(
    repository: Repository,
    parts: { rows: SortedRows; people: PeopleMap; report: Report; text: Project['text'] },
  ) {
    this.repository = repository
    this.fullName = `${repository.owner}/${repository.name}`
    this.report = parts.report
    this.text = parts.text
    this.#rows = parts.rows
    this.#people = parts.people
    for (const label of repository.labels) this.#addLabel(label)
    // GitLab finds a milestone by its title, so titles must differ.
    const titles = new Set<string>()
    for (const milestone of this.all('milestones')) {
      let { title } = milestone
      for (let n = 2; titles.has(title); n++) title = `${milestone.title} (${n})`
      titles.add(title)
      if (title !== milestone.title)
        this.warn('milestones', `a second “${milestone.title}” is called “${title}”`)
      this.milestones.set(milestone.number, milestoneRecord({ ...milestone, title }, this.text))
    }
  }

  /** Iterates the facts of a kind by number. Only one such iteration can run at a time. */
  *all<K extends FactKind>(kind: K): Generator<FactsByKind[K]> {
    for (const [, fact] of this.#rows.all<FactsByKind[K]>(tableOf(kind, this.fullName))) yield fact
  }

  /** Returns the facts of one issue or pull request, in the order of their time. */
  of<K extends FactKind>(kind: K, number: number): FactsByKind[K][] {
    return this.#rows.of(tableOf(kind, this.fullName), number)
  }

  has(kind: FactKind, number: number): boolean {
    return this.#rows.has(tableOf(kind, this.fullName), number)
  }

  /** Returns the id of an account in this export, and assigns one at the first call. */
  userId(author: Author): number {
    const login = (author ?? 'ghost').toLowerCase()
    const id = this.#ids.get(login) ?? this.#ids.size + 1
    this.#ids.set(login, id)
    return id
  }

  /** Returns the new login. */
  loginOf(author: Author): string {
    return this.#people.get((author ?? '').toLowerCase())?.login ?? author ?? 'ghost'
  }

  /** Returns whether the email address of a person is known. Without it, an importer cannot find the account. */
  hasEmail(author: Author): boolean {
    return this.#people.get((author ?? '').toLowerCase())?.email !== undefined
  }

  /** Yields the accounts with an email address that this export names. */
  *members() {
    for (const [login, id] of this.#ids) {
      const person = this.#people.get(login)
      if (person?.email !== undefined)
        yield { id, login: person.login, email: person.email, accessLevel: person.accessLevel }
    }
  }

  /** Returns the record of a label, and adds it if it is not known: issues can have labels that their repository no longer has. */
  label(name: string) {
    const { createdAt } = this.repository
    return (
      this.labels.get(name) ?? this.#addLabel({ name, color: '', description: null, createdAt })
    )
  }

  #addLabel(label: Label) {
    const record = labelRecord(label)
    if (record.title !== label.name)
      this.warn('labels', `the label ${label.name} becomes ${record.title}`)
    this.labels.set(label.name, record)
    return record
  }

  milestoneTitled(wanted: string) {
    return this.milestones.values().find(({ title }) => title === wanted)
  }

  /** Returns the title of an issue or pull request, cut to the length that GitLab allows. */
  title(number: number, title: string): string {
    const characters = Array.from(title)
    if (characters.length <= MAX_TITLE_LENGTH) return title
    this.warn('titles', `the title of #${number} is cut to ${MAX_TITLE_LENGTH} characters`)
    return `${characters.slice(0, MAX_TITLE_LENGTH - 1).join('')}…`
  }

  discussionId(thread: string): string {
    return sha1(`${this.fullName} ${thread}`)
  }

  warn(kind: string, text: string): void {
    this.report.warn(kind, `${this.fullName}: ${text}`)
  }

  loseRecord(kind: string, why: string): void {
    this.report.lostRecord(kind, `${this.fullName}: ${why}`)
  }
}

export const tableOf = (kind: FactKind, fullName: string): string =>
  `${kind} ${fullName.toLowerCase()}`

/** GitLab writes times in UTC with milliseconds. */
export const gitlabTime = (time: string): string => new Date(Date.parse(time) || 0).toISOString()

export const gitlabTimeOrNull = (time: string | null): string | null =>
  time === null ? null : gitlabTime(time)

const MAX_TITLE_LENGTH = 255

function labelRecord({ name, color, description, createdAt }: Label) {
  return {
    // GitLab separates labels by commas.
    title: name.replaceAll(',', ' '),
    color: /^[0-9a-f]{6}$/i.test(color) ? `#${color}` : '#428BCA',
    description,
    type: 'ProjectLabel',
    template: false,
    created_at: gitlabTime(createdAt),
    updated_at: gitlabTime(createdAt),
  }
}

function milestoneRecord(milestone: Milestone, text: Project['text']) {
  return {
    iid: milestone.number,
    title: milestone.title,
    description: text(milestone.description),
    state: milestone.state === 'open' ? 'active' : 'closed',
    // The day on which GitHub shows the milestone as due.
    due_date: milestone.dueOn?.slice(0, 10) ?? null,
    created_at: gitlabTime(milestone.createdAt),
    updated_at: gitlabTime(milestone.updatedAt),
  }
}

type Awardable = 'Issue' | 'MergeRequest' | 'Note'

/** Leaves out repeated reactions, which deleted accounts can cause: all of them are `ghost`. */
export function awardEmoji(project: Project, type: Awardable, reactions: readonly Reaction[]) {
  const awards = reactions.map(({ author, content, createdAt }) => ({
    name: EMOJI_BY_REACTION[content] ?? content,
    user_id: project.userId(author),
    awardable_type: type,
    created_at: gitlabTime(createdAt),
    updated_at: gitlabTime(createdAt),
  }))
  return [...new Map(awards.map((each) => [`${each.name} ${each.user_id}`, each])).values()]
}
