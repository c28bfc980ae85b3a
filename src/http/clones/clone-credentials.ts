import { tokenIn } from '../door/authenticate.ts'

const BASIC = /^basic +([A-Za-z0-9+/]+=*) *$/i
/** As a password, it says that the token is the user's name. */
const NO_PASSWORD = new Set(['', 'x-oauth-basic'])

/**
 * The token that a git client sends. Git itself knows names and passwords only: the token is the password of any name, or the
 * name of no password. Undefined where there is none in it.
 */
export function cloneCredential(authorization: string): string | undefined {
  const encoded = BASIC.exec(authorization)?.[1]
  if (encoded === undefined) return tokenIn(authorization)
  const [, name = '', password = ''] =
    /^([^:]*):?(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  return (NO_PASSWORD.has(password) ? name : password) || undefined
}
