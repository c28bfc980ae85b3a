/**
 * The forge must be asked again later: it said so, it is unavailable, or our budget of requests is used up. The job is requeued and not
 * retried before `dueAt`, in epoch milliseconds. A user may see the message.
 */
export class WaitUntil extends Error {
  override name = 'WaitUntil'
  readonly dueAt: number
  /** `told`: the forge asked to wait. `budget`: our own limit. `away`: the forge is unavailable, the only reason to give up some day. */
  readonly why: 'told' | 'budget' | 'away'

  constructor(dueAt: number, why: WaitUntil['why'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.dueAt = dueAt
    this.why = why
  }
}

/** The forge refused a request, and a retry does not help. A user may see the message. */
export class ForgeRefused extends Error {
  override name = 'ForgeRefused'
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/** 404: it does not exist, this token may not see it, or this version of the forge does not have the endpoint. */
export class ForgeNotFound extends ForgeRefused {
  override name = 'ForgeNotFound'
  /** Whether the body is the forge's own error message: a proxy in front of the forge answers 404 with another body. */
  readonly isFromForge: boolean
  /** When to retry if the response is not from the forge, in epoch milliseconds. */
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

/** A file of unlisted size that is larger than the limit for such files. */
export class TooLarge extends ForgeRefused {
  override name = 'TooLarge'
}

/** The forge sends fewer or more bytes of a file than it lists. A retry soon does not help. */
export class DamagedFile extends ForgeRefused {
  override name = 'DamagedFile'
}

/** 500: the forge failed on this request. Some versions respond so for deleted objects. */
export class ForgeError extends ForgeRefused {
  override name = 'ForgeError'
}

/** Whether the object does not exist or this token may not read it. */
export const isDenied = (error: unknown): boolean =>
  error instanceof ForgeRefused && (error instanceof ForgeNotFound || error.status === 403)
