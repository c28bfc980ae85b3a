import { LimitedLines } from '../lib/limited-lines.ts'

/** An account on the target. */
export interface MappedPerson {
  login: string
  /** The id of the account on the target. Undefined if the file does not specify it. */
  id: number | undefined
  email?: string
  /** The role that a member gets in GitLab, as its number. */
  accessLevel?: number
}

/** The accounts on the target by the login in the input, in lower case. A key can also be the id or e-mail address of a GitLab user. */
export type PeopleMap = ReadonlyMap<string, MappedPerson>

const FIRST_COLUMN_TITLE = 'old-login'

/**
 * Reads a CSV file with `old-login,new-login` on each line. The first line may be a header, as `godwit show --people` writes it. With
 * a header, the columns `account-id`, `email` and `access-level` are read too. Other columns, empty lines, lines that start with `#`
 * and lines with neither a new login nor an address are ignored. `refusal` returns why a new login is invalid, or undefined if it is
 * valid. An invalid line is a warning.
 */
export function parsePeopleCsv(csv: string, refusal: (login: string) => string | undefined) {
  const people = new Map<string, MappedPerson>()
  const warnings: string[] = []
  const limited = new LimitedLines(({ text }) => warnings.push(text))
  let titles: string[] = []
  const lines = csv.replace(/^\ufeff/, '').split(/\r?\n/)
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    // `csvLine` adds an apostrophe to text that a spreadsheet would interpret as a formula.
    const cells = parseCells(line)?.map((cell) => cell.replace(/^'(?=[=+@-])/, ''))
    if (index === 0 && cells?.[0]?.toLowerCase() === FIRST_COLUMN_TITLE) {
      titles = cells.map((title) => title.toLowerCase())
      continue
    }
    const parsed = cells ? parsePerson(cells, titles, refusal) : 'its quotes do not match'
    const warn = (why: string) =>
      limited.add('lines', `line ${index + 1}: ${why}; the line is ignored`)
    if (typeof parsed === 'string') warn(parsed)
    else if (parsed && people.has(parsed.old)) warn(`${parsed.old} is mapped by an earlier line`)
    else if (parsed) people.set(parsed.old, parsed.person)
  }
  limited.end()
  return { people, warnings }
}

/** Parses the cells of one line. Returns undefined if it has neither a new login nor an address, and a message if it is invalid. */
function parsePerson(
  cells: string[],
  titles: readonly string[],
  refusal: (login: string) => string | undefined,
): { old: string; person: MappedPerson } | string | undefined {
  const [old = '', newLogin] = cells
  const cell = (title: string) => cells[titles.indexOf(title)] ?? ''
  if (newLogin === undefined) return 'it has no comma'
  if (old === '') return 'the old login is missing'
  const [id, email, level] = [cell('account-id'), cell('email'), cell('access-level')]
  // GitLab's importer finds accounts by address, so a new login is not needed.
  const login = newLogin || (email && old)
  if (login === '') return undefined
  const why = newLogin === '' ? undefined : refusal(newLogin)
  if (why) return `${login}: ${why}`
  if (id !== '' && !/^[1-9]\d{0,14}$/.test(id)) return `${id} is not an account id`
  if (level !== '' && !/^[1-4]0$/.test(level))
    return `${level} is not an access level: 10, 20, 30 or 40`
  const person = {
    login,
    id: id === '' ? undefined : Number(id),
    ...(email !== '' && { email }),
    ...(level !== '' && { accessLevel: Number(level) }),
  }
  return { old: old.toLowerCase(), person }
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
