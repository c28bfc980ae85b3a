import { hash } from 'node:crypto'
import type { SortedRows } from '@godwit/lib/sorted-rows'
import type { Reaction } from '../../records/issue.ts'
import type { Author } from '../../records/record.ts'
import type { Label, Milestone, Repository } from '../../records/repository.ts'
import type { Report } from '../format.ts'
import type { PeopleMap } from '../people.ts'
import { RepositoryRecords } from '../sort-records.ts'
import { EMOJI_BY_REACTION } from './constants.ts'

const MAX_TEXT_BYTES = 1024 * 1024

/** Reads the records of one repository, and keeps what they share: labels, milestones and the ids of accounts. */
export class Project extends RepositoryRecords {
  readonly repository: Repository
  readonly labels = new Map<string, ReturnType<typeof labelRecord>>()
  readonly milestones = new Map<number, ReturnType<typeof milestoneRecord>>()
  /** By the original title. Events name a milestone by it. */
  readonly milestonesByTitle = new Map<string, ReturnType<typeof milestoneRecord>>()
  /** Returns a text with its references and links in GitLab's form. */
  readonly text: (body: string | null) => string
  readonly #people: PeopleMap
  readonly #labelTitles = new Set<string>()
  readonly #ids = new Map<string, number>()

  constructor(
    repository: Repository,
    options: { rows: SortedRows; people: PeopleMap; report: Report; text: Project['text'] },
  ) {
    super(options, `${repository.owner}/${repository.name}`)
    this.repository = repository
    this.text = options.text
    this.#people = options.people
    // Labels that keep their names come first.
    for (const label of repository.labels.toSorted((a, b) => commasIn(a) - commasIn(b)))
      this.#addLabel(label)
    for (const milestone of this.uniqueMilestones().values()) {
      const record = milestoneRecord(milestone, this.text)
      this.milestones.set(milestone.number, record)
      this.milestonesByTitle.set(milestone.title, record)
    }
  }

  /** Returns the id of an account in this export, and assigns one at the first call. */
  userId(author: Author): number {
    return this.#ids.getOrInsertComputed(keyOf(author), () => this.#ids.size + 1)
  }

  /** Returns the new login. */
  loginOf(author: Author): string {
    return this.#people.get(keyOf(author))?.login ?? author ?? 'ghost'
  }

  /** Returns whether the email address of a person is known. Without it, an importer cannot find the account. */
  hasEmail(author: Author): boolean {
    return this.#people.get(keyOf(author))?.email !== undefined
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
    // GitLab separates labels by commas.
    const plain = label.name.replaceAll(',', ' ').trim() || 'unnamed'
    let title = plain
    for (let n = 2; this.#labelTitles.has(title); n++) title = `${plain} (${n})`
    this.#labelTitles.add(title)
    if (title !== label.name) this.warn('labels', `the label ${label.name} becomes ${title}`)
    const record = labelRecord({ ...label, title })
    this.labels.set(label.name, record)
    return record
  }

  /** Returns the text. Warns if it is too long for GitLab. */
  warnIfLong(what: string, text: string): string {
    if (Buffer.byteLength(text) > MAX_TEXT_BYTES)
      this.warn('texts', `GitLab cuts or refuses the text of ${what}: it has more than 1 MiB`)
    return text
  }

  discussionId(thread: string): string {
    return hash('sha1', `${this.fullName} ${thread}`)
  }
}

/** GitLab writes times in UTC with milliseconds. */
export const gitlabTime = (time: string): string => new Date(Date.parse(time) || 0).toISOString()

export const gitlabTimeOrNull = (time: string | null): string | null =>
  time === null ? null : gitlabTime(time)

/** Returns the times of a record that was never changed. */
export const timestamps = (time: string) => ({
  created_at: gitlabTime(time),
  updated_at: gitlabTime(time),
})

const commasIn = ({ name }: Label): number => Number(name.includes(','))

function labelRecord({ title, color, description, createdAt }: Label & { title: string }) {
  return {
    title,
    color: /^[0-9a-f]{6}$/i.test(color) ? `#${color}` : '#428BCA',
    description,
    type: 'ProjectLabel',
    template: false,
    ...timestamps(createdAt),
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

const keyOf = (author: Author): string => (author ?? 'ghost').toLowerCase()

type Awardable = 'Issue' | 'MergeRequest' | 'Note'

/** Leaves out repeated reactions, which deleted accounts can cause: all of them are `ghost`. */
export function awardEmoji(project: Project, type: Awardable, reactions: readonly Reaction[]) {
  const awards = reactions.map(({ author, content, createdAt }) => ({
    name: EMOJI_BY_REACTION.get(content) ?? content,
    user_id: project.userId(author),
    awardable_type: type,
    ...timestamps(createdAt),
  }))
  return [...new Map(awards.map((each) => [`${each.name} ${each.user_id}`, each])).values()]
}
