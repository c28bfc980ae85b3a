/**
 * The host is temporarily unavailable: it sent Retry-After, it does not respond, or the budget of requests is used up. A job that
 * gets this error goes back to the queue until `dueAt`, in epoch milliseconds. `message` can be shown to users.
 */
export class HostUnavailable extends Error {
  override name = 'HostUnavailable'
  readonly dueAt: number
  /** A caller may give up after a while only if the reason is `unreachable`. */
  readonly reason: 'rate_limited' | 'budget' | 'unreachable'

  constructor(
    dueAt: number,
    reason: HostUnavailable['reason'],
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.dueAt = dueAt
    this.reason = reason
  }
}

/** The host responded with an error or with something unusable. Retrying soon does not help. `message` can be shown to users. */
export class HostRequestFailed extends Error {
  /** The HTTP status; 0 if TLS failed before there was one. */
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.status = status
  }
}

/** Status 404 or 410: the object does not exist, this token may not see it, or this version of the host has no such endpoint. */
export class HostNotFound extends HostRequestFailed {
  /** Whether the body is an error message of the host's API. A proxy in front of the host may also send a 404, with another body. */
  readonly isFromApi: boolean
  /** When to retry if the caller does not trust this response, in epoch milliseconds. */
  readonly retryAt: number

  constructor(
    status: number,
    message: string,
    { isFromApi, retryAt }: { isFromApi: boolean; retryAt: number },
  ) {
    super(status, message)
    this.isFromApi = isFromApi
    this.retryAt = retryAt
  }
}

/** The host does not list the size of a file, and the file is larger than the limit for such files. */
export class FileTooLarge extends HostRequestFailed {}

/** The host sends fewer or more bytes of a file than it lists. Retrying soon does not help. */
export class FileDamaged extends HostRequestFailed {}

/** Status 500 or above for this one request. Some versions send it for an object that was deleted. */
export class HostServerError extends HostRequestFailed {}

/** Returns whether the host does not accept the token, or does not let it read the object. */
export const isUnauthorized = (error: unknown): boolean =>
  error instanceof HostRequestFailed && (error.status === 401 || error.status === 403)

export const isNotFound = (error: unknown): boolean => error instanceof HostNotFound

/** Returns a function that handles an error by returning undefined if `isExpected` returns true, and otherwise throws the error. */
export const undefinedIf =
  (isExpected: (error: unknown) => boolean) =>
  (error: unknown): undefined => {
    if (!isExpected(error)) throw error
  }
