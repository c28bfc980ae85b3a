import { ForgeRefused, WaitUntil } from '../sources/forge-errors.ts'

/** Only the forge can tell what people may do, and it does not answer now. Nothing is known against anybody. */
export class ForgeUnreachable extends Error {
  override name = 'ForgeUnreachable'
  /** Epoch milliseconds. */
  readonly retryAt: number

  constructor(retryAt: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.retryAt = retryAt
  }
}

const AGAIN_MS = 10_000

/** What a question to the forge failed with, as ForgeUnreachable; any other failure as it is. */
export function asForgeUnreachable(error: unknown, now: number): unknown {
  const cause = { cause: error }
  if (error instanceof WaitUntil) return new ForgeUnreachable(error.dueAt, error.message, cause)
  if (error instanceof ForgeRefused)
    return new ForgeUnreachable(now + AGAIN_MS, error.message, cause)
  if (error instanceof Error && error.name === 'TimeoutError')
    return new ForgeUnreachable(now + AGAIN_MS, 'the forge did not answer in time', cause)
  return error
}
