/**
 * The forge is temporarily unavailable: it sent Retry-After, it does not respond, or the budget of requests is used up. A job that
 * gets this error goes back to the queue until `dueAt`, in epoch milliseconds. `message` can be shown to users.
 */
export class ForgeUnavailable extends Error {
  override name = 'ForgeUnavailable'
  readonly dueAt: number
  /** A caller may give up after a while only if the reason is `unreachable`. */
  readonly reason: 'rate_limited' | 'budget' | 'unreachable'

  constructor(
    dueAt: number,
    reason: ForgeUnavailable['reason'],
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.dueAt = dueAt
    this.reason = reason
  }
}

/** The forge responded with an error or with something unusable. Retrying soon does not help. `message` can be shown to users. */
export class ForgeRequestFailed extends Error {
  /** The HTTP status; 0 if TLS failed before there was one. */
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.status = status
  }
}

/** Status 404 or 410: the object does not exist, this token may not see it, or this version of the forge has no such endpoint. */
export class ForgeNotFound extends ForgeRequestFailed {
  /** Whether the body is an error message of the forge's API. A proxy in front of the forge may also send a 404, with another body. */
  readonly isFromForge: boolean
  /** When to retry if the caller does not trust this response, in epoch milliseconds. */
  readonly retryAt: number

  constructor(
    status: number,
    message: string,
    { isFromForge, retryAt }: { isFromForge: boolean; retryAt: number },
  ) {
    super(status, message)
    this.isFromForge = isFromForge
    this.retryAt = retryAt
  }
}

/** The forge does not list the size of a file, and the file is larger than the limit for such files. */
export class FileTooLarge extends ForgeRequestFailed {}

/** The forge sends fewer or more bytes of a file than it lists. Retrying soon does not help. */
export class FileDamaged extends ForgeRequestFailed {}

/** Status 500 or above for this one request. Some versions send it for an object that was deleted. */
export class ForgeServerError extends ForgeRequestFailed {}

/** Returns whether the forge does not accept the token, or does not let it read the object. */
export const isUnauthorized = (error: unknown): boolean =>
  error instanceof ForgeRequestFailed && (error.status === 401 || error.status === 403)

export const isNotFound = (error: unknown): boolean => error instanceof ForgeNotFound

/** Returns a function that handles an error by returning undefined if `isExpected` returns true, and otherwise throws the error. */
export const undefinedIf =
  (isExpected: (error: unknown) => boolean) =>
  (error: unknown): undefined => {
    if (!isExpected(error)) throw error
  }
