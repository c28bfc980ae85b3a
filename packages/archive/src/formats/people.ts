import { LimitedLines } from '@godwit/lib/findings'
import { isEmail, isForeignName } from '@godwit/lib/names'
import { UserError } from '@godwit/lib/user-error'
import { parseCsv } from './csv.ts'

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

const HEADER = /^"?old-login"?[ \t]*([,;])/i

/**
 * Reads a CSV file with `old-login,new-login` on each line. The first line may be a header, as `godwit show --people` writes it. With
 * a header, the columns `account-id`, `email` and `access-level` are read too. Other columns, empty lines, lines that start with `#`
 * and lines with neither a new login nor an address are ignored. `refusal` returns why a new login is invalid, or undefined if it is
 * valid. An invalid line is a warning. Throws UserError if a value cannot be a login at all: then the file may have lines that nobody
 * meant to be there.
 */
export function parsePeopleCsv(csv: string, refusal: (login: string) => string | undefined) {
  const people = new Map<string, MappedPerson>()
  const warnings: string[] = []
  const limited = new LimitedLines(({ text }) => warnings.push(text))
  const hasSemicolons = HEADER.exec(csv.replace(/^\ufeff/, ''))?.[1] === ';'
  let titles: string[] = []
  for (const { line, cells } of parseCsv(csv, { hasSemicolons })) {
    if (line === 1 && HEADER.test(`${cells[0]},`)) {
      titles = cells.map((title) => title.toLowerCase())
      continue
    }
    const impossible = impossibleValue(cells, titles)
    if (impossible) throw new UserError(`line ${line}: ${impossible}; nothing of the file is used`)
    const parsed = parsePerson(cells, titles, refusal)
    const warn = (why: string) => limited.add('lines', `line ${line}: ${why}; the line is ignored`)
    if (typeof parsed === 'string') warn(parsed)
    else if (parsed && people.has(parsed.old)) warn(`${parsed.old} is mapped by an earlier line`)
    else if (parsed) people.set(parsed.old, parsed.person)
  }
  limited.end()
  return { people, warnings }
}

/** Returns why a line is not one that a person would write, or undefined. */
function impossibleValue(cells: readonly string[], titles: readonly string[]): string | undefined {
  const shown = (value: string) => JSON.stringify(value.slice(0, 100))
  const broken = cells.find((cell) => /[\p{Cc}\p{Zl}\p{Zp}]/u.test(cell))
  if (broken !== undefined) return `${shown(broken)} has a line break or a control character`
  const login = cells.slice(0, 2).find((cell) => cell !== '' && !isForeignName(cell))
  if (login?.includes(';'))
    return `${shown(login)} cannot be a login; if it is two columns, begin the file with old-login;new-login`
  if (login !== undefined) return `${shown(login)} cannot be a login`
  const email = cells[titles.indexOf('email')] ?? ''
  return email === '' || isEmail(email) ? undefined : `${shown(email)} is not an e-mail address`
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
