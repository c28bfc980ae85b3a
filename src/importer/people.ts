import { textOf } from '../archive/read-entries.ts'
import type { Folder } from '../archive/read-folder.ts'
import type { Bytes } from '../blobs/blob-store.ts'
import { LimitedLines } from '../lib/limited-lines.ts'
import type { Author, Reaction } from '../records/fact.ts'
import type { FactKind } from '../records/fact-kinds.ts'
import { isFactKind, readFacts } from '../records/read-records.ts'
import { kindOfFile } from '../records/record-file.ts'
import { NOT_UNPACKED, safeEntries } from './safe-entries.ts'

const COLUMNS = [
  'issues',
  'pull_requests',
  'comments',
  'reviews',
  'commit_comments',
  'releases',
  'reactions',
] as const

type Column = (typeof COLUMNS)[number]

/** The column in which a record of each kind counts for its author. Other kinds are not counted. */
const COLUMN_OF_KIND: Partial<Record<FactKind, Column>> = {
  issues: 'issues',
  pull_requests: 'pull_requests',
  issue_comments: 'comments',
  pull_request_reviews: 'reviews',
  pull_request_review_comments: 'comments',
  commit_comments: 'commit_comments',
  releases: 'releases',
}

/**
 * Lists the accounts that wrote or reacted to something in the archive, or own one of its repositories, the most active first. `titles`
 * are the kinds of contributions that are counted, and `wrote` has one count for each. The warnings are about records that could not
 * be read. Reads one file of records into memory at a time.
 */
export async function listPeople(archive: Bytes | Folder, signal: AbortSignal) {
  const people = new Map<string, { login: string; wrote: number[] }>()
  const warnings: string[] = []
  const limited = new LimitedLines(({ text }) => warnings.push(text))
  const countsFor = (author: Author) => {
    const login = author ?? 'ghost'
    const known = people.get(login.toLowerCase())
    if (known) return known.wrote
    const wrote = COLUMNS.map(() => 0)
    people.set(login.toLowerCase(), { login, wrote })
    return wrote
  }
  const count = (author: Author, column: Column) => countsFor(author)[COLUMNS.indexOf(column)]!++
  for await (const entry of safeEntries(archive, NOT_UNPACKED, signal)) {
    const kind = kindOfFile(entry.path)
    if (kind === undefined || !isFactKind(kind)) continue
    const warn = (why: string) => limited.add(kind, `${entry.path}: ${why}`)
    const column = COLUMN_OF_KIND[kind]
    for (const { value } of readFacts(kind, await textOf(entry), warn).records) {
      if (kind === 'repositories' && 'owner' in value) countsFor(value.owner)
      if (!column) continue
      if ('author' in value) count(value.author, column)
      const reactions = 'reactions' in value ? value.reactions : undefined
      for (const { author } of (reactions ?? []) as readonly Reaction[]) count(author, 'reactions')
    }
  }
  limited.end()
  const total = ({ wrote }: { wrote: number[] }) => wrote.reduce((a, b) => a + b, 0)
  const sorted = [...people.values()].sort(
    (a, b) => total(b) - total(a) || (a.login < b.login ? -1 : 1),
  )
  return { titles: COLUMNS, people: sorted, warnings }
}

/** An account on the target. */
export interface MappedPerson {
  login: string
  /** The id of the account on the target. Undefined if the file does not specify it. */
  id: number | undefined
}

/** The accounts on the target, by the lower-case login in the archive. */
export type PeopleMap = ReadonlyMap<string, MappedPerson>

const FIRST_COLUMN_TITLE = 'old-login'

/**
 * Reads a CSV file with `old-login,new-login` on each line. The first line may be a header, as `godwit show --people` writes it. With
 * a header, the column `account-id` is read too. Other columns, empty lines, lines that start with `#` and lines without a new
 * login are ignored. `refusal` returns why a new login is invalid, or undefined if it is valid. An invalid line is a warning.
 */
export function parsePeopleCsv(
  csv: string,
  refusal: (login: string) => string | undefined,
): { people: PeopleMap; warnings: string[] } {
  const people = new Map<string, MappedPerson>()
  const warnings: string[] = []
  const limited = new LimitedLines(({ text }) => warnings.push(text))
  let idColumn = -1
  const lines = csv.replace(/^\ufeff/, '').split(/\r?\n/)
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    // `csvLine` adds an apostrophe to text that a spreadsheet would interpret as a formula.
    const cells = parseCells(line)?.map((cell) => cell.replace(/^'(?=[=+@-])/, ''))
    if (index === 0 && cells?.[0]?.toLowerCase() === FIRST_COLUMN_TITLE) {
      idColumn = cells.indexOf('account-id')
      continue
    }
    const parsed = cells ? parsePerson(cells, idColumn, refusal) : 'its quotes do not match'
    const warn = (why: string) =>
      limited.add('lines', `line ${index + 1}: ${why}; the line is ignored`)
    if (typeof parsed === 'string') warn(parsed)
    else if (parsed && people.has(parsed.old)) warn(`${parsed.old} is mapped by an earlier line`)
    else if (parsed) people.set(parsed.old, parsed.person)
  }
  limited.end()
  return { people, warnings }
}

/** Parses the cells of one line. Returns undefined if the line has no new login, and a message if it is invalid. */
function parsePerson(
  [old = '', login, ...others]: string[],
  idColumn: number,
  refusal: (login: string) => string | undefined,
): { old: string; person: MappedPerson } | string | undefined {
  if (login === undefined) return 'it has no comma'
  if (old === '') return 'the old login is missing'
  if (login === '') return undefined
  const why = refusal(login)
  if (why) return `${login}: ${why}`
  const id = (idColumn < 2 ? '' : others[idColumn - 2]) ?? ''
  if (id !== '' && !/^[1-9]\d{0,14}$/.test(id)) return `${id} is not an account id`
  return { old: old.toLowerCase(), person: { login, id: id === '' ? undefined : Number(id) } }
}

/** Splits a line of CSV. Returns undefined if its quotes do not match. */
function parseCells(line: string): string[] | undefined {
  if (!line.includes('"')) return line.split(',').map((cell) => cell.trim())
  const cells: string[] = []
  let rest = line
  for (;;) {
    const [match, quoted, plain] = /^\s*(?:"((?:[^"]|"")*)"\s*|([^",]*))(?=,|$)/.exec(rest) ?? []
    if (match === undefined) return undefined
    cells.push(quoted === undefined ? (plain ?? '').trim() : quoted.replaceAll('""', '"'))
    if (match.length === rest.length) return cells
    rest = rest.slice(match.length + 1)
  }
}

/** Returns one line of CSV (RFC 4180). Puts an apostrophe before text that a spreadsheet would interpret as a formula. */
export function csvLine(cells: readonly (string | number)[]): string {
  return `${cells.map(csvCell).join(',')}\n`
}

function csvCell(value: string | number): string {
  const text = typeof value === 'string' && /^[=+@\t\r-]/.test(value) ? `'${value}` : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
