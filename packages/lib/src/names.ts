/** A file name has at most 255 bytes, four of them for `.git`. */
export const MAX_NAME_LENGTH = 251

const PLAIN = /^[A-Za-z0-9._-]+$/

/**
 * Returns why an account or a repository cannot have this name, or undefined if it can. This is the only rule for names: a listed
 * name can always be requested, locked, exported and restored.
 */
export function invalidNameReason(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..') return 'it has no name'
  if (!PLAIN.test(name))
    return 'its name has characters other than letters, digits, ".", "_" and "-"'
  if (/\.git$/i.test(name)) return 'its name ends in .git'
  if (name.length > MAX_NAME_LENGTH) return `its name has more than ${MAX_NAME_LENGTH} characters`
  return undefined
}

export const isName = (text: string): boolean => invalidNameReason(text) === undefined

const MAX_LOGIN_LENGTH = 255
const LOGIN = /^[\p{L}\p{N}_.~-](?:[^\p{C}\p{Z},;:"/\\#?%]| (?=\S))*$/u

/**
 * Returns whether some host may call an account, a team or a repository so. This is wider than `isName`, because hosts also have bots
 * such as `renovate[bot]`, and names such as `John Doe` for authors without an account. It excludes every text that would mean something
 * else in a URL, in a line of a file or in a spreadsheet, and letters that only look like others.
 */
export const isForeignName = (text: string): boolean =>
  text.length <= MAX_LOGIN_LENGTH &&
  LOGIN.test(text) &&
  text !== '.' &&
  text !== '..' &&
  text.normalize('NFKC') === text

/** Returns the nearest text that is accepted by `isForeignName`, or undefined if nothing is left. */
export function toForeignName(text: string): string | undefined {
  if (isForeignName(text)) return text
  const plain = text
    .normalize('NFKC')
    .replace(/[\p{C}\p{Z},;:"/\\#?%]+/gu, ' ')
    .replace(/^[^\p{L}\p{N}_.~-]+/u, '')
  const name = Array.from(plain)
    .slice(0, MAX_LOGIN_LENGTH / 2)
    .join('')
    .trim()
  return isForeignName(name) ? name : undefined
}

/** Returns whether a text may be an e-mail address. */
export const isEmail = (text: string): boolean =>
  /^[^\p{C}\p{Z},;:"<>]+$/u.test(text) && /[^@]@[^@]+$/.test(text)

/** Parses `owner/name`. */
export function parseFullName(text: string): { owner: string; name: string } | undefined {
  const [owner = '', name = '', ...more] = text.split('/')
  return isName(owner) && isName(name) && more.length === 0 ? { owner, name } : undefined
}

export const isFullName = (text: string): boolean => parseFullName(text) !== undefined

/** Returns the first `max` names and the number of the others. */
export function summarizeNames(names: readonly string[], max = 10): string {
  const more = names.length > max ? ` and ${names.length - max} more` : ''
  return `${names.slice(0, max).join(', ')}${more}`
}
