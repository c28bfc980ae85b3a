import { NotThere, WaitUntil } from '../../forge-errors.ts'
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
  const askOnce = async () => {
    try {
      return { found: await ask() }
    } catch (error) {
      if (!(error instanceof NotThere)) throw error
      if (!error.isFromForge) throw unavailable(error)
      return { absence: error }
    }
  }
  const first = await askOnce()
  if (!first.absence) return first.found
  await askVersion(client, signal).catch((error: unknown) => {
    throw error instanceof WaitUntil ? error : unavailable(first.absence)
  })
  const second = await askOnce()
  return second.found
}

const unavailable = (absence: NotThere) =>
  new WaitUntil(
    absence.retryAt,
    'away',
    `${absence.message}, but the forge does not say so itself`,
    {
      cause: absence,
    },
  )
