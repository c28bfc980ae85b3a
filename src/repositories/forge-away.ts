import { ForgeRefused, WaitUntil } from '../sources/forge-errors.ts'

/** Only the forge can tell what people may do, and it does not answer now. Nothing is known against anybody. */
export class ForgeAway extends Error {
  override name = 'ForgeAway'
  /** Epoch milliseconds. */
  readonly retryAt: number

  constructor(retryAt: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.retryAt = retryAt
  }
}

const AGAIN_MS = 10_000

/** What a question to the forge failed with, as ForgeAway; any other failure as it is. */
export function forgeAway(error: unknown, now: number): unknown {
  const cause = { cause: error }
  if (error instanceof WaitUntil) return new ForgeAway(error.dueAt, error.message, cause)
  if (error instanceof ForgeRefused) return new ForgeAway(now + AGAIN_MS, error.message, cause)
  if (error instanceof Error && error.name === 'TimeoutError')
    return new ForgeAway(now + AGAIN_MS, 'the forge did not answer in time', cause)
  return error
}
