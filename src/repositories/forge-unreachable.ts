import { ForgeRefused, WaitUntil } from '../sources/forge-errors.ts'

/** Permissions are unknown because the forge does not respond. The request may succeed later. */
export class ForgeUnreachable extends Error {
  override name = 'ForgeUnreachable'
  /** Epoch milliseconds. */
  readonly retryAt: number

  constructor(retryAt: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.retryAt = retryAt
  }
}

const RETRY_MS = 10_000

/** Converts errors of requests to the forge to ForgeUnreachable; returns other errors as they are. */
export function asForgeUnreachable(error: unknown, now: number): unknown {
  const cause = { cause: error }
  if (error instanceof WaitUntil) return new ForgeUnreachable(error.dueAt, error.message, cause)
  if (error instanceof ForgeRefused)
    return new ForgeUnreachable(now + RETRY_MS, error.message, cause)
  if (error instanceof Error && error.name === 'TimeoutError')
    return new ForgeUnreachable(now + RETRY_MS, 'the forge did not answer in time', cause)
  return error
}
