import { UserError } from '@godwit/lib/user-error'

/**
 * Returns the URL of a host without a trailing slash. People copy the URL that a browser or client shows, so `/api/v1` at the end
 * is removed. Throws UserError.
 */
export function normalizeHostUrl(text: string): string {
  // Anything may have been pasted here, even a token or a URL with a password.
  const shown = /^(?=.*[.:/])[\w.:/-]{1,80}$/.test(text) ? text : '(not shown)'
  if (!URL.canParse(text)) throw new UserError(`not the URL of a forge: ${shown}`)
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new UserError(`the URL of a forge begins with https:// or http://: ${shown}`)
  if (url.username || url.password)
    throw new UserError('the URL of a forge must not contain a user name or password')
  if (url.search || url.hash)
    throw new UserError(`the URL of a forge must end with its path: ${url.origin}${url.pathname}`)
  const path = url.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
  return `${url.origin}${path}`
}

/** Encodes a name as one segment of a path. */
export const segment = (name: string | number): string => encodeURIComponent(String(name))

/** Returns the path of a repository below the address of the pages. */
export const repositoryPagePath = ({ owner, name }: { owner: string; name: string }): string =>
  `/${segment(owner)}/${segment(name)}`

/** Returns the path of a repository below that of the API. */
export const repositoryPath = (repository: { owner: string; name: string }): string =>
  `/repos${repositoryPagePath(repository)}`
