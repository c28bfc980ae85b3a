import { summarizeNames } from '@godwit/lib/names'
import type { Account } from '../../accounts/account.ts'

/** An error response with this status and message. Errors of the domain have their own classes, which `error-handler.ts` converts. */
export class HttpError extends Error {
  override name = 'HttpError'
  readonly status: number
  /** In seconds. */
  readonly retryAfter: number | undefined

  constructor(status: number, message: string, retryAfter?: number) {
    super(message)
    this.status = status
    this.retryAfter = retryAfter
  }
}

export const requiresAuthentication = () => new HttpError(401, 'Requires authentication')
export const badCredentials = () => new HttpError(401, 'Bad credentials')
export const tooManyLogins = (retryAfter: number) =>
  new HttpError(
    403,
    'Maximum number of login attempts exceeded. Please try again later.',
    retryAfter,
  )
/** The checksum of a token is public, so this reveals nothing. */
export const mistypedToken = () =>
  new HttpError(401, 'Bad credentials: the token is mistyped or incomplete.')
export const sessionsOnlyForPages = () =>
  new HttpError(403, 'Sessions are for the pages of this server: use a token instead.')
/** GitHub's words, and the reason. */
export const tokenIsReadOnly = () =>
  new HttpError(403, 'Resource not accessible by personal access token: it is read-only.')
export const tokenOfOrganization = () =>
  new HttpError(
    403,
    'Resource not accessible by personal access token: it is limited to one organization.',
  )
export const unparsableBody = () => new HttpError(400, 'Problems parsing JSON')
export const previewMissing = () =>
  new HttpError(
    415,
    'If you would like to help us test the Migrations API during its preview period, you must specify a custom media ' +
      "type in the 'Accept' header. Please see the docs for full details.",
  )
export const invalidLink = () =>
  new HttpError(403, 'This link is not valid or has expired. Request the archive again.')
/** 410, because the damage is permanent. */
export const archiveDamaged = (names: readonly string[]) =>
  new HttpError(
    410,
    `The archive cannot be downloaded: the stored data of ${summarizeNames(names)} is damaged. Start a new migration to export it again.`,
  )
export const rateLimited = ({ id }: Account) =>
  new HttpError(403, `API rate limit exceeded for user ID ${id}.`)
/** The words of GitHub Enterprise Server, which clients look for. */
export const rateLimitDisabled = () => new HttpError(404, 'Rate limiting is not enabled.')
export const tooManyRequests = () =>
  new HttpError(
    429,
    'You have exceeded a secondary rate limit: too many requests of this account or address are under way. ' +
      'Please try again later.',
  )
export const requestTimeout = () =>
  new HttpError(408, 'Request Timeout: the rest of the request did not arrive.')
export const bodyTooLarge = () => new HttpError(413, 'The request body is too large: 1 MiB at most')
export const methodNotAllowed = () => new HttpError(405, 'Method Not Allowed')
export const unavailable = () =>
  new HttpError(503, 'This server cannot do that at the moment. Please try again later.')
export const overloaded = () =>
  new HttpError(503, 'This server is overloaded at the moment. Please try again later.')
