import {
  ForgeNotFound,
  ForgeRequestFailed,
  ForgeUnavailable,
  isNotFound,
  undefinedIf,
} from '../../forge-errors.ts'
import type { ForgeClient } from './forge-client.ts'
import { readVersion } from './forge-version.ts'

/**
 * Calls `request` and returns its result, or undefined if the forge does not have the object. A 404 alone does not prove that,
 * because a proxy sends one while the forge restarts. It is trusted if its body is an error message of the forge's API, `/version`
 * responds, and a second call of `request` gets it too. Any other 404 rejects with ForgeUnavailable.
 */
export const undefinedIfAbsent = <T>(
  client: ForgeClient,
  request: () => Promise<T>,
  signal: AbortSignal,
): Promise<T | undefined> => confirmAbsence(client, request, signal).catch(undefinedIf(isNotFound))

/**
 * Calls `request` and returns its result. Rejects with ForgeNotFound only for a 404 that can be trusted, as described for
 * `undefinedIfAbsent`. The 404 of a download need not have an error message of the API.
 */
export async function confirmAbsence<T>(
  client: ForgeClient,
  request: () => Promise<T>,
  signal: AbortSignal,
  { isDownload = false } = {},
): Promise<T> {
  const requestOnce = () =>
    request().catch((error: unknown) => {
      const isDoubtful = error instanceof ForgeNotFound && !error.isFromForge && !isDownload
      throw isDoubtful ? unconfirmedAbsence(error) : error
    })
  try {
    return await requestOnce()
  } catch (absence) {
    if (!(absence instanceof ForgeNotFound)) throw absence
    await readVersion(client, signal).catch((error: unknown) => {
      throw error instanceof ForgeUnavailable ? error : unconfirmedAbsence(absence)
    })
    return await requestOnce()
  }
}

/**
 * Handles an error by returning undefined if the forge does not have the object or does not let the token read it. Otherwise throws the
 * error.
 */
export const undefinedIfRefused = undefinedIf(
  (error) => isNotFound(error) || (error instanceof ForgeRequestFailed && error.status === 403),
)

/** Converts a 404 that cannot be trusted into an error that makes the caller retry later. */
export const unconfirmedAbsence = (absence: ForgeNotFound) =>
  new ForgeUnavailable(
    absence.retryAt,
    'unreachable',
    `${absence.message}, but the response may not be from the forge itself`,
    { cause: absence },
  )
