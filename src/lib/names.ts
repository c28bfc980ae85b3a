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
