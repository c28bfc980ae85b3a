import { isDenied } from '../../forge-errors.ts'
import { unlessAbsent } from './confirm-absence.ts'
import type { ForgeClient } from './forge-client.ts'
import { flagIn } from './forge-values.ts'
import {
  askPageSize,
  askVersion,
  type Capabilities,
  capabilitiesOf,
  type ForgeVersion,
} from './forge-version.ts'

/** What was learned of a forge, once. */
export interface KnownForge {
  client: ForgeClient
  version: ForgeVersion
  /** What it turns out to lack is switched off here. */
  can: Capabilities
  pageSize: number
  /** Whether lists may leave out what this token is not to see. */
  mayHide: boolean
  /** Logins of owners that the forge has said are no organizations. */
  persons: Set<string>
}

/** Learns it at the first call that succeeds; an upgrade of the forge is noticed an hour later. */
export function forgeGetter(client: ForgeClient, now: () => number = Date.now) {
  let known: { forge: KnownForge; until: number } | undefined
  return async (signal: AbortSignal): Promise<KnownForge> => {
    if (!known || known.until < now()) {
      const version = await askVersion(client, signal)
      const pageSize = await askPageSize(client, signal)
      const mayHide = !(await isAdministrator(client, signal))
      const forge = {
        client,
        version,
        can: capabilitiesOf(version),
        pageSize,
        mayHide,
        persons: new Set<string>(),
      }
      known = { forge, until: now() + HOUR_MS }
    }
    return known.forge
  }
}

const HOUR_MS = 60 * 60 * 1000

/** A token may lack the right to ask who it belongs to. */
async function isAdministrator(client: ForgeClient, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await unlessAbsent(client, () => client.get('/user', {}, signal), signal)
    return flagIn((answer?.body ?? {}) as Record<string, unknown>, 'is_admin')
  } catch (error) {
    if (isDenied(error)) return false
    throw error
  }
}
