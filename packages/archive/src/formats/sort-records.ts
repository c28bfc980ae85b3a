import { hash } from 'node:crypto'
import type { SortedRows } from '@godwit/lib/sorted-rows'
import type { IssueOrPull } from '../records/record.ts'
import { RECORD_KINDS, type RecordKind, type RecordsByKind } from '../records/record-kinds.ts'
import type { RepositoryFile } from '../records/release.ts'
import type { Milestone, Repository } from '../records/repository.ts'
import type { Conversion, FormatReader, Report } from './format.ts'

/** Returns a key for `SortedRows` that identifies a text. */
export const hashKey = (text: string): number => hash('sha1', text, 'buffer').readUIntBE(0, 6)

/** What a format has for a record. A record that is kept only in part is reported as a loss too. */
type RecordUse = 'kept' | 'partly kept' | 'lost' | 'not needed'

/** Kinds that most formats do not have. Accounts are not reported as lost, because content contains the names of its authors. */
const USES: { [K in RecordKind]?: RecordUse } = {
  users: 'not needed',
  bots: 'not needed',
  organizations: 'not needed',
  teams: 'lost',
  discussion_categories: 'lost',
  discussions: 'lost',
}

/** Returns the repositories by full name in lower case. */
export async function readRepositories({ content }: Conversion) {
  const repositories = new Map<string, Repository>()
  for await (const record of content.records('repositories'))
    repositories.set(`${record.owner}/${record.name}`.toLowerCase(), record)
  return repositories
}

/**
 * Sorts all other records by repository, kind, number and time: archives sort comments by their time, and other formats need them by
 * issue. `decide` is called for each record. If it returns undefined, `USES` decides.
 */
export async function sortRecords(
  { content, report }: Conversion,
  rows: SortedRows,
  decide: (kind: RecordKind, record: RecordsByKind[RecordKind]) => RecordUse | undefined = () =>
    undefined,
): Promise<void> {
  for (const kind of RECORD_KINDS.filter((each) => each !== 'repositories'))
    for await (const record of content.records(kind)) {
      const use = decide(kind, record) ?? USES[kind] ?? 'kept'
      if (use === 'lost' || use === 'partly kept') report.addLoss(kind)
      if (use.endsWith('kept') && 'repository' in record)
        rows.add(tableOf(kind, record.repository), numberOf(record), timeOf(record), record)
    }
}

/** Files of both kinds are in one table. */
const tableOf = (kind: RecordKind, fullName: string): string =>
  `${kind === 'repository_files' ? 'attachments' : kind} ${fullName.toLowerCase()}`

/** Returns the number of the issue or pull request that a record belongs to, or else its own number. Files have the number 0. */
function numberOf(record: object): number {
  const { pull, number, on } = record as {
    pull?: number
    number?: number
    on?: { number?: number }
  }
  return 'file' in record ? 0 : (pull ?? on?.number ?? number ?? 0)
}

function timeOf(record: object): number {
  const { submittedAt, createdAt } = record as { submittedAt?: string | null; createdAt?: string }
  return Date.parse(submittedAt ?? createdAt ?? '') || 0
}

const MAX_TITLE_LENGTH = 255

type SortedRecord<K extends RecordKind> =
  | RecordsByKind[K]
  | (K extends 'attachments' ? RepositoryFile : never)

/** The sorted records of one repository, and the report about it. */
export class RepositoryRecords {
  readonly fullName: string
  readonly report: Report
  readonly #rows: SortedRows

  constructor({ rows, report }: { rows: SortedRows; report: Report }, fullName: string) {
    this.fullName = fullName
    this.report = report
    this.#rows = rows
  }

  /** Iterates the records of a kind by number. Only one such iteration can run at a time. */
  *all<K extends RecordKind>(kind: K): Generator<SortedRecord<K>> {
    for (const [, record] of this.#rows.all<SortedRecord<K>>(tableOf(kind, this.fullName)))
      yield record
  }

  /** Returns the records of one issue or pull request, in the order of their time. */
  of<K extends RecordKind>(kind: K, number: number): RecordsByKind[K][] {
    return this.#rows.of(tableOf(kind, this.fullName), number)
  }

  has(kind: RecordKind, number: number): boolean {
    return this.#rows.has(tableOf(kind, this.fullName), number)
  }

  count(kind: RecordKind): number {
    return this.#rows.count(tableOf(kind, this.fullName))
  }

  /** Returns what has this number, or undefined if neither an issue nor a pull request has it. */
  kindOf(number: number): IssueOrPull['kind'] | undefined {
    if (this.has('issues', number)) return 'issue'
    return this.has('pull_requests', number) ? 'pull_request' : undefined
  }

  /** Returns the time of the newest record of one issue or pull request. */
  newest(kind: RecordKind, number: number): number | undefined {
    return this.#rows.newest(tableOf(kind, this.fullName), number)
  }

  isLocked(number: number): boolean {
    const events = this.of('issue_events', number)
    return events.findLast(({ event }) => /^(?:un)?locked$/.test(event))?.event === 'locked'
  }

  /** Yields the issues or pull requests. A number that occurs twice is reported, because servers reject it. */
  *items<K extends 'issues' | 'pull_requests'>(kind: K): Generator<RecordsByKind[K]> {
    let last = 0
    for (const item of this.all(kind) as Generator<RecordsByKind[K]>) {
      const { number } = item
      if (number === last || (kind === 'issues' && this.has('pull_requests', number)))
        this.loseRecord(kind, `#${number} occurs twice`)
      else yield item
      last = number
    }
  }

  /** Replaces an empty title, and cuts a long one. GitLab and some servers refuse these, and others would cut them without a warning. */
  title(number: number, title: string): string {
    if (title.trim() === '') {
      this.warn('titles', `#${number} has no title: it gets the title “#${number}”`)
      return `#${number}`
    }
    const characters = Array.from(title)
    if (characters.length <= MAX_TITLE_LENGTH) return title
    this.warn('titles', `the title of #${number} is cut to ${MAX_TITLE_LENGTH} characters`)
    return `${characters.slice(0, MAX_TITLE_LENGTH - 1).join('')}…`
  }

  /** Returns the milestones by number. Their titles are unique, because servers identify a milestone by its title. */
  uniqueMilestones(): Map<number, Milestone> {
    const milestones = new Map<number, Milestone>()
    for (const milestone of this.all('milestones')) {
      const { number } = milestone
      if (milestones.has(number)) this.loseRecord('milestones', `milestone ${number} occurs twice`)
      else if (milestone.title.trim() === '') {
        this.warn('milestones', `milestone ${number} has no title: it gets its number as a title`)
        milestones.set(number, { ...milestone, title: String(number) })
      } else milestones.set(number, milestone)
    }
    for (const [number, title] of milestoneTitles([...milestones.values()])) {
      const milestone = milestones.get(number)!
      if (milestone.title === title) continue
      const why = `a second milestone “${milestone.title}” is renamed to “${title}”`
      this.warn('milestones', why)
      milestones.set(number, { ...milestone, title })
    }
    return milestones
  }

  /** Reports reviews and their comments whose pull request is not in the input. */
  loseReviewsWithoutPull(): void {
    for (const kind of ['pull_request_reviews', 'pull_request_review_comments'] as const)
      for (const { id, pull } of this.all(kind))
        if (!this.has('pull_requests', pull))
          this.loseRecord(kind, `${kind} ${id}: pull request #${pull} is not in the input`)
  }

  /** Returns the file that a record names, or reports it as lost and returns undefined if it is missing. */
  async findFile(content: FormatReader, kind: string, path: string) {
    const found = await content.findFile(path, this.fullName)
    if (!('missing' in found)) return found
    this.loseRecord(kind, found.missing)
    return undefined
  }

  warn(kind: string, text: string): void {
    this.report.warn(kind, `${this.fullName}: ${text}`)
  }

  loseRecord(kind: string, why: string): void {
    this.report.addSkippedRecord(kind, `${this.fullName}: ${why}`)
  }
}

/** Returns a title for each number that no other milestone has. */
export function milestoneTitles(milestones: readonly { number: number; title: string }[]) {
  const taken = new Set<string>(milestones.map(({ title }) => title))
  /** The last number that was added to a title. */
  const last = new Map<string, number>()
  const titles = new Map<number, string>()
  for (const { number, title } of milestones) {
    let n = last.get(title) ?? 0
    let unique = title
    if (n > 0) while (taken.has(unique)) unique = `${title} (${++n})`
    last.set(title, Math.max(n, 1))
    taken.add(unique)
    titles.set(number, unique)
  }
  return titles
}
