import type { Bytes } from '@godwit/lib/bytes'
import { LimitedLines } from '@godwit/lib/findings'
import type { FormatReader } from './formats/format.ts'
import { NOT_UNPACKED, validateEntries } from './formats/unpack-archive.ts'
import type { Team } from './records/people.ts'
import type { PullRequest } from './records/pull-request.ts'
import { isRecordKind, kindOfFile, readRecords } from './records/read-records.ts'
import type { Author } from './records/record.ts'
import { RECORD_KINDS, type RecordKind, type RecordsByKind } from './records/record-kinds.ts'
import type { ProtectedBranch, Repository } from './records/repository.ts'
import { notAnArchive } from './summarize-archive.ts'
import { textOf } from './tar/read-entries.ts'
import type { Folder } from './tar/read-folder.ts'

const COLUMNS = [
  ...(['issues', 'pull_requests', 'comments', 'reviews', 'commit_comments', 'releases'] as const),
  'reactions',
] as const

type Column = (typeof COLUMNS)[number]

/** The column in which a record of each kind counts for its author. Other kinds are not counted. */
const COLUMN_OF_KIND: Partial<Record<RecordKind, Column>> = {
  issues: 'issues',
  pull_requests: 'pull_requests',
  pull_request_reviews: 'reviews',
  issue_comments: 'comments',
  pull_request_review_comments: 'comments',
  commit_comments: 'commit_comments',
  releases: 'releases',
}

/**
 * Lists the accounts that wrote or reacted to something in the archive, own one of its repositories or have a role in it, the most active
 * first. `titles` are the kinds of contributions that are counted, and `wrote` has one count for each. The warnings are about records that
 * could not be read. Reads one file of records into memory at a time. Returns undefined for a project export of GitLab. Throws
 * ArchiveRefused and ArchiveNotSupported.
 */
export async function listPeople(archive: Bytes | Folder, signal: AbortSignal) {
  const counter = new PeopleCounter()
  let isKnown = false
  const warnings: string[] = []
  const limited = new LimitedLines(({ text }) => warnings.push(text))
  for await (const entry of validateEntries(archive, NOT_UNPACKED, signal)) {
    if (/^(?:tree\/)?project\.json$/.test(entry.path)) return undefined
    const kind = kindOfFile(entry.path)
    isKnown ||= kind !== undefined || /^(?:schema\.json$|repositories\/)/.test(entry.path)
    if (kind === undefined || !isRecordKind(kind)) continue
    const warn = (why: string) => limited.add(kind, `${entry.path}: ${why}`)
    for (const { value } of readRecords(kind, await textOf(entry), warn).valid)
      counter.add(kind, value)
  }
  limited.end()
  if (!isKnown) throw notAnArchive()
  return { titles: COLUMNS, people: counter.sorted(), warnings }
}

/** Lists the accounts of content of any format. */
export async function listPeopleIn(content: FormatReader) {
  const counter = new PeopleCounter()
  for (const kind of RECORD_KINDS)
    if (COLUMN_OF_KIND[kind] || KINDS_WITH_ROLES.includes(kind))
      for await (const record of content.records(kind)) counter.add(kind, record)
  return { titles: COLUMNS, people: counter.sorted() }
}

const KINDS_WITH_ROLES: readonly RecordKind[] = ['repositories', 'teams', 'protected_branches']

/** Returns the people who need an account on a new server although they may have written nothing. */
function peopleWithRoles(kind: RecordKind, record: object): string[] {
  if (!COLUMN_OF_KIND[kind] && !KINDS_WITH_ROLES.includes(kind)) return []
  const {
    collaborators = [],
    members = [],
    assignees = [],
    authorizedUsers = [],
    reviewRequests = [],
    forgeRule = {},
  } = record as Partial<Repository & Team & PullRequest & ProtectedBranch>
  const reviewers = reviewRequests.map(({ reviewer }) => reviewer)
  const named = [...collaborators, ...members, ...reviewers.filter((each) => each.kind === 'user')]
  const allowed = Object.entries(forgeRule).flatMap(([field, value]) =>
    field.endsWith('_usernames') && Array.isArray(value) ? value.map(String) : [],
  )
  return [...named.map(({ login }) => login), ...assignees, ...authorizedUsers, ...allowed]
}

class PeopleCounter {
  readonly #people = new Map<string, { login: string; wrote: number[] }>()

  add(kind: RecordKind, record: RecordsByKind[RecordKind]): void {
    const column = COLUMN_OF_KIND[kind]
    if (kind === 'repositories' && 'owner' in record) this.#countsFor(record.owner)
    for (const login of peopleWithRoles(kind, record)) this.#countsFor(login)
    if (!column) return
    if ('author' in record) this.#count(record.author, column)
    const reactions = 'reactions' in record ? record.reactions : undefined
    for (const { author } of reactions ?? []) this.#count(author, 'reactions')
  }

  #count(author: Author, column: Column): void {
    this.#countsFor(author)[COLUMNS.indexOf(column)]!++
  }

  #countsFor(author: Author): number[] {
    const login = author ?? 'ghost'
    const person = () => ({ login, wrote: COLUMNS.map(() => 0) })
    return this.#people.getOrInsertComputed(login.toLowerCase(), person).wrote
  }

  sorted() {
    const total = ({ wrote }: { wrote: number[] }) => wrote.reduce((a, b) => a + b, 0)
    return [...this.#people.values()].sort(
      (a, b) => total(b) - total(a) || (a.login < b.login ? -1 : 1),
    )
  }
}
