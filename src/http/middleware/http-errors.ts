import type { Account } from '../../accounts/account.ts'
import { summarizeNames } from '../../migrations/archive-store.ts'

/** An error response with this status and message, thrown before the domain is involved. */
export class HttpError extends Error {
  override name = 'HttpError'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export const requiresAuthentication = () => new HttpError(401, 'Requires authentication')
export const badCredentials = () => new HttpError(401, 'Bad credentials')
export const sessionsOnlyForPages = () =>
  new HttpError(403, 'Sessions are for the pages of this server: use a token instead.')
export const typeWithOthers = () =>
  new HttpError(422, 'If you specify visibility or affiliation, you cannot specify type.')
export const unparsableBody = () => new HttpError(400, 'Problems parsing JSON')
export const bodyNotAnObject = () => new HttpError(400, 'Body should be a JSON object')
export const previewMissing = () =>
  new HttpError(
    415,
    'If you would like to help us test the Migrations API during its preview period, you must specify a custom media ' +
      "type in the 'Accept' header. Please see the docs for full details.",
  )
export const unacceptable = (accept: string) =>
  new HttpError(415, `Unsupported 'Accept' header: '${accept}'. Must accept 'application/json'.`)
export const invalidLink = () =>
  new HttpError(403, 'This link is not valid or has expired. Request the archive again.')
export const accessLost = (names: readonly string[]) =>
  new HttpError(
    403,
    `You may no longer read these repositories in the archive: ${names.join(', ')}. Start a migration without them.`,
  )
/** 410, because the damage is permanent. */
export const archiveDamaged = (names: readonly string[]) =>
  new HttpError(
    410,
    `The archive cannot be downloaded: the stored data of ${summarizeNames(names)} is damaged. Start a new migration to export it again.`,
  )
export const userAgentMissing = () =>
  new HttpError(
    403,
    'Request forbidden by administrative rules. Please make sure your request has a User-Agent header.',
  )
export const unknownVersion = (vendor: string, version: string) =>
  new HttpError(
    400,
    `The 'X-${vendor}-Api-Version' header '${version}' is not a version of this API.`,
  )
export const rateLimited = ({ id }: Account) =>
  new HttpError(403, `API rate limit exceeded for user ID ${id}.`)
export const anonymousRateLimited = (ip: string) =>
  new HttpError(
    403,
    `API rate limit exceeded for ${ip}. Requests with a token have a higher limit.`,
  )
export const pushAccessMissing = () =>
  new HttpError(403, 'Must have push access to view repository collaborators.')
export const addressRateLimited = (ip: string) =>
  new HttpError(
    403,
    `Rate limit exceeded for ${ip}. Use a token: accounts have limits of their own.`,
  )
export const tooManyFailures = () =>
  new HttpError(403, 'Maximum number of login attempts exceeded. Please try again later.')
export const tooManyStreams = () =>
  new HttpError(
    429,
    'You have exceeded a secondary rate limit: too many downloads and event streams of this account are open. ' +
      'Please try again later.',
  )
export const tooManyRequests = () =>
  new HttpError(
    429,
    'You have exceeded a secondary rate limit: too many requests of this account or address are under way. ' +
      'Please try again later.',
  )
export const requestTimeout = () =>
  new HttpError(408, 'Request Timeout: the rest of the request did not arrive.')
export const bodyTooLarge = () => new HttpError(413, 'The request body is too large: 1 MiB at most')
export const repositoryNotFound = () => new HttpError(404, 'Repository not found.')
export const pushNotAllowed = () =>
  new HttpError(403, 'This address is for cloning and fetching only. It does not accept pushes.')
export const unknownGitService = () =>
  new HttpError(
    403,
    'Only git clone and git fetch over smart HTTP are served here (git 1.6.6 or newer).',
  )
export const tooManyClones = () =>
  new HttpError(503, 'Too many clones are running at the moment. Please try again later.')
export const cloneRequestTooLarge = () =>
  new HttpError(413, 'The request is too large: at most 16 MiB, uncompressed.')
export const notUploadPackRequest = () =>
  new HttpError(415, 'The content type must be application/x-git-upload-pack-request.')
export const unknownCompression = (encoding: string) =>
  new HttpError(415, `Unsupported content encoding: ${encoding.slice(0, 20)}. Use gzip or none.`)
export const invalidCompression = () => new HttpError(400, 'The request is not valid gzip.')
export const unavailable = () =>
  new HttpError(503, 'This server cannot do that at the moment. Please try again later.')
export const diskFull = () =>
  new HttpError(
    503,
    'The server has no disk space left, so nothing was done. Please try again later.',
  )
export const signInUnavailable = () =>
  new HttpError(
    503,
    'The forge does not answer, and only it knows whose token this is. Please try again later.',
  )
export const rightsUnavailable = () =>
  new HttpError(
    503,
    'The forge does not answer, and only it knows what you may do. Please try again later.',
  )
export const overloaded = () =>
  new HttpError(503, 'This server is overloaded at the moment. Please try again later.')
