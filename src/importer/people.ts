import { textOf } from '../archive/read-entries.ts'
import type { Folder } from '../archive/read-folder.ts'
import type { Bytes } from '../blobs/blob-store.ts'
import { LimitedLines } from '../lib/limited-lines.ts'
import type { Author, Reaction } from '../records/fact.ts'
import type { FactKind } from '../records/facts.ts'
import { isFactKind, readFacts } from '../records/read-records.ts'
import { kindOfFile } from '../records/record-file.ts'
import { NOT_UNPACKED, safeEntries } from './safe-entries.ts'

const WROTE = [
  'issues',
  'pull_requests',
  'comments',
  'reviews',
  'commit_comments',
  'releases',
  'reactions',
] as const

type Wrote = (typeof WROTE)[number]

/** Kinds of records, and what their author is said to have written by them. */
const COUNTED: Partial<Record<FactKind, Wrote>> = {
  issues: 'issues',
  pull_requests: 'pull_requests',
  issue_comments: 'comments',
  pull_request_reviews: 'reviews',
  pull_request_review_comments: 'comments',
  commit_comments: 'commit_comments',
  releases: 'releases',
}

export interface PeopleList {
  titles: readonly string[]
  /** Who wrote most comes first. */
  people: { login: string; wrote: readonly number[] }[]
  /** Of records that could not be read. */
  warnings: string[]
}

/** Everyone who wrote something in the archive, or owns a repository of it. One file of records is in memory at a time. */
export async function listPeople(
  archive: Bytes | Folder,
  signal: AbortSignal,
): Promise<PeopleList> {
  const counts = new Map<string, { login: string; wrote: number[] }>()
  const warnings: string[] = []
  const limited = new LimitedLines(({ text }) => warnings.push(text))
  const of = (author: Author) => {
    const login = author ?? 'ghost'
    const known = counts.get(login.toLowerCase())
    if (known) return known.wrote
    const wrote = WROTE.map(() => 0)
    counts.set(login.toLowerCase(), { login, wrote })
    return wrote
  }
  const add = (author: Author, what: Wrote) => of(author)[WROTE.indexOf(what)]!++
  for await (const entry of safeEntries(archive, NOT_UNPACKED, signal)) {
    const kind = kindOfFile(entry.path)
    if (kind === undefined || !isFactKind(kind)) continue
    const warn = (why: string) => limited.add(kind, `${entry.path}: ${why}`)
    const read = readFacts(kind, await textOf(entry), warn)
    const counted = COUNTED[kind]
    for (const { value } of read.records) {
      if (kind === 'repositories' && 'owner' in value) of(value.owner)
      if (!counted) continue
      if ('author' in value) add(value.author, counted)
      const reactions = 'reactions' in value ? value.reactions : undefined
      for (const { author } of (reactions ?? []) as readonly Reaction[]) add(author, 'reactions')
    }
  }
  limited.end()
  return { titles: WROTE, people: mostFirst([...counts.values()]), warnings }
}

function mostFirst(people: PeopleList['people']): PeopleList['people'] {
  const total = ({ wrote }: PeopleList['people'][number]) => wrote.reduce((a, b) => a + b, 0)
  return people.sort((a, b) => total(b) - total(a) || (a.login < b.login ? -1 : 1))
}

export interface MappedPerson {
  login: string
  /** Number of the account on the target, where it was said. */
  id: number | undefined
}

/** By the old login in lower case. */
export type PeopleMap = ReadonlyMap<string, MappedPerson>

export interface ReadPeople {
  people: PeopleMap
  /** By the number of the line. */
  warnings: string[]
}

const HEADER = 'old-login'

/**
 * `old-login,new-login` on each line. The columns may be named in a first line, as `godwit show --people` writes them; then
 * `account-id` counts too, and others are for people only. A line without a new login maps nobody.
 */
export function readPeople(
  csv: string,
  refusal: (login: string) => string | undefined,
): ReadPeople {
  const people = new Map<string, MappedPerson>()
  const warnings: string[] = []
  const limited = new LimitedLines(({ text }) => warnings.push(text))
  let idColumn = -1
  for (const [index, line] of csv
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    // A spreadsheet is kept from taking a name for a formula by an apostrophe.
    const cells = cellsOf(line)?.map((cell) => cell.replace(/^'(?=[=+@-])/, ''))
    if (index === 0 && cells?.[0]?.toLowerCase() === HEADER) {
      idColumn = cells.indexOf('account-id')
      continue
    }
    const read = cells ? personIn(cells, idColumn, refusal) : 'its quotes do not match'
    const warn = (why: string) =>
      limited.add('lines', `line ${index + 1}: ${why}; the line is ignored`)
    if (typeof read === 'string') warn(read)
    else if (read && people.has(read.old)) warn(`${read.old} is mapped by an earlier line`)
    else if (read) people.set(read.old, read.person)
  }
  limited.end()
  return { people, warnings }
}

/** Undefined where the line maps nobody; why not, where it should. */
function personIn(
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
  if (id !== '' && !/^[1-9]\d{0,14}$/.test(id)) return `${id} is no number of an account`
  return { old: old.toLowerCase(), person: { login, id: id === '' ? undefined : Number(id) } }
}

/** Undefined where a quote is left open. */
function cellsOf(line: string): string[] | undefined {
  if (!line.includes('"')) return line.split(',').map((cell) => cell.trim())
  const cells: string[] = []
  let rest = line
  for (;;) {
    const [whole, quoted, plain] = /^\s*(?:"((?:[^"]|"")*)"\s*|([^",]*))(?=,|$)/.exec(rest) ?? []
    if (whole === undefined) return undefined
    cells.push(quoted === undefined ? (plain ?? '').trim() : quoted.replaceAll('""', '"'))
    if (whole.length === rest.length) return cells
    rest = rest.slice(whole.length + 1)
  }
}

/** One line of CSV (RFC 4180). What a spreadsheet would take for a formula is marked as text. */
export function csvLine(cells: readonly (string | number)[]): string {
  return `${cells.map(cell).join(',')}\n`
}

function cell(value: string | number): string {
  const text = typeof value === 'string' && /^[=+@\t\r-]/.test(value) ? `'${value}` : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
