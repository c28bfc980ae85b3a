/** What `NAME.git` leaves of a file name's 255 bytes. */
export const LONGEST_NAME = 251

const PLAIN = /^[A-Za-z0-9._-]+$/

/**
 * Why neither an account nor a repository can have this name; undefined when both can. There is no other rule: whatever is
 * listed under a name can be asked for, locked, exported and restored by it.
 */
export function nameRefusal(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..') return 'it has no name'
  if (!PLAIN.test(name))
    return 'its name has characters other than letters, digits, ".", "_" and "-"'
  if (/\.git$/i.test(name)) return 'its name ends in .git'
  if (name.length > LONGEST_NAME) return `its name has more than ${LONGEST_NAME} characters`
  return undefined
}

export const isName = (text: string): boolean => nameRefusal(text) === undefined

/** `owner/name`. */
export function isFullName(text: string): boolean {
  const parts = text.split('/')
  return parts.length === 2 && parts.every(isName)
}
