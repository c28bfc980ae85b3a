/**
 * The forge cannot answer now and will later: it said so, it is away, or the budget of requests is used up. Whoever has the
 * job gives it back and does not try before `dueAt`, in epoch milliseconds. `message` is fit for a user to see.
 */
export class WaitUntil extends Error {
  override name = 'WaitUntil'
  readonly dueAt: number
  /** `told` by the forge, kept back by our own `budget`, or it is `away`: only the last may be given up some day. */
  readonly why: 'told' | 'budget' | 'away'

  constructor(dueAt: number, why: WaitUntil['why'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.dueAt = dueAt
    this.why = why
  }
}

/** The forge answers, and the answer is of no use: trying again soon will not help. `message` is fit for a user to see. */
export class ForgeRefused extends Error {
  override name = 'ForgeRefused'
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/** 404: it is not there, or not for this token to see; or this version of the forge does not know the address. */
export class ForgeNotFound extends ForgeRefused {
  override name = 'ForgeNotFound'
  /** Whether the body is the forge's own error message. A proxy in front of the forge answers 404 too, with another body. */
  readonly isFromForge: boolean
  /** When to ask again if this answer is not believed, in epoch milliseconds. */
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

/** A file whose length the forge did not list, and which is longer than is taken so. */
export class TooLarge extends ForgeRefused {
  override name = 'TooLarge'
}

/** The forge lists a file and does not give its bytes: it gives fewer or more than it lists. Asking again soon will not help. */
export class DamagedFile extends ForgeRefused {
  override name = 'DamagedFile'
}

/** 500: the forge failed over this one request. Some versions answer so for what was deleted. */
export class ForgeError extends ForgeRefused {
  override name = 'ForgeError'
}

/** Not there, or not for this token to read. */
export const isDenied = (error: unknown): boolean =>
  error instanceof ForgeRefused && (error instanceof ForgeNotFound || error.status === 403)
