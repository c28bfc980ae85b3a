import { HostRequestFailed, HostUnavailable } from '@godwit/hosts/host-errors'

/** Permissions are unknown because the forge does not respond. The request may succeed later. */
export class PermissionsUnavailable extends Error {
  override name = 'PermissionsUnavailable'
  /** Epoch milliseconds. */
  readonly retryAt: number

  constructor(retryAt: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.retryAt = retryAt
  }
}

const RETRY_MS = 10_000

/** Converts errors of requests to the forge to PermissionsUnavailable. Throws any other error. */
export function asPermissionsUnavailable(error: unknown, now: number): PermissionsUnavailable {
  const cause = { cause: error }
  if (error instanceof HostUnavailable)
    return new PermissionsUnavailable(error.dueAt, error.message, cause)
  if (error instanceof HostRequestFailed)
    return new PermissionsUnavailable(now + RETRY_MS, error.message, cause)
  if (error instanceof Error && error.name === 'TimeoutError')
    return new PermissionsUnavailable(now + RETRY_MS, 'the forge did not respond in time', cause)
  throw error
}
