import { LimitedLines } from '../lib/limited-lines.ts'

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
