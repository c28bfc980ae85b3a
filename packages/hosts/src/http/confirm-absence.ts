import {
  HostNotFound,
  HostRequestFailed,
  HostUnavailable,
  isNotFound,
  undefinedIf,
} from '../host-errors.ts'
import type { ApiClient } from './http-client.ts'

/**
 * Calls `request` and returns its result, or undefined if the host does not have the object. A 404 alone does not prove that,
 * because a proxy sends one while the host restarts. It is trusted if its body is an error message of the host's API, the API
 * responds, and a second call of `request` gets it too. Any other 404 rejects with HostUnavailable.
 */
export const undefinedIfAbsent = <T>(
  client: ApiClient,
  request: () => Promise<T>,
  signal: AbortSignal,
): Promise<T | undefined> => confirmAbsence(client, request, signal).catch(undefinedIf(isNotFound))

/**
 * Calls `request` and returns its result. Rejects with HostNotFound only for a 404 that can be trusted, as described for
 * `undefinedIfAbsent`. The 404 of a download need not have an error message of the API.
 */
export async function confirmAbsence<T>(
  client: ApiClient,
  request: () => Promise<T>,
  signal: AbortSignal,
  { isDownload = false } = {},
): Promise<T> {
  const requestOnce = () =>
    request().catch((error: unknown) => {
      const isDoubtful = error instanceof HostNotFound && !error.isFromApi && !isDownload
      throw isDoubtful ? unconfirmedAbsence(error) : error
    })
  try {
    return await requestOnce()
  } catch (absence) {
    if (!(absence instanceof HostNotFound)) throw absence
    await client.probe(signal).catch((error: unknown) => {
      throw error instanceof HostUnavailable ? error : unconfirmedAbsence(absence)
    })
    return await requestOnce()
  }
}

/**
 * Handles an error by returning undefined if the host does not have the object or does not let the token read it. Otherwise throws the
 * error.
 */
export const undefinedIfRefused = undefinedIf(
  (error) => isNotFound(error) || (error instanceof HostRequestFailed && error.status === 403),
)

/** Converts a 404 that cannot be trusted into an error that makes the caller retry later. */
export const unconfirmedAbsence = (absence: HostNotFound) =>
  new HostUnavailable(
    absence.retryAt,
    'unreachable',
    `${absence.message}, but the response may not be from the forge itself`,
    { cause: absence },
  )
