import { ForgeNotFound, WaitUntil } from '../../forge-errors.ts'
import type { ForgeClient } from './forge-client.ts'
import { askVersion } from './forge-version.ts'

/**
 * Calls `ask` and returns its result, or undefined if the forge does not have what is asked for. A 404 alone does not say so: a
 * proxy sends one while the forge restarts. It is believed if it has the forge's own error message, `/version` answers, and
 * `ask` is answered so twice. Any other 404 rejects with WaitUntil, as a forge that is unavailable does.
 */
export async function unlessAbsent<T>(
  client: ForgeClient,
  ask: () => Promise<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  try {
    return await confirmAbsence(client, ask, signal)
  } catch (error) {
    if (error instanceof ForgeNotFound) return undefined
    throw error
  }
}

/**
 * Calls `ask` and returns its result. Rejects with ForgeNotFound if the 404 is believed, as `unlessAbsent` believes it. The download of
 * a file is answered with no message of the API: its 404 need not have one.
 */
export async function confirmAbsence<T>(
  client: ForgeClient,
  ask: () => Promise<T>,
  signal: AbortSignal,
  { isDownload = false } = {},
): Promise<T> {
  const askOnce = () =>
    ask().catch((error: unknown) => {
      const isDoubtful = error instanceof ForgeNotFound && !error.isFromForge && !isDownload
      throw isDoubtful ? unavailable(error) : error
    })
  try {
    return await askOnce()
  } catch (absence) {
    if (!(absence instanceof ForgeNotFound)) throw absence
    await askVersion(client, signal).catch((error: unknown) => {
      throw error instanceof WaitUntil ? error : unavailable(absence)
    })
    return await askOnce()
  }
}

/** A 404 that is not believed: the forge is to be asked again later. */
export const unavailable = (absence: ForgeNotFound) =>
  new WaitUntil(
    absence.retryAt,
    'away',
    `${absence.message}, but the forge does not say so itself`,
    {
      cause: absence,
    },
  )
