import { isNotFoundOrForbidden } from '../../forge-errors.ts'
import { undefinedIfAbsent } from './confirm-absence.ts'
import type { ForgeClient } from './forge-client.ts'
import { booleanIn, objectOf } from './forge-values.ts'
import {
  type Capabilities,
  capabilitiesOf,
  type ForgeVersion,
  readVersion,
} from './forge-version.ts'

/** What a client needs to know about a forge before it reads from it. */
export interface KnownForge {
  client: ForgeClient
  version: ForgeVersion
  /** A capability is set to false when its endpoint turns out to be missing. */
  can: Capabilities
  pageSize: number
  /** Whether lists may omit entries, because the token is not an administrator's. */
  mayHide: boolean
  /** Logins that the forge has confirmed not to be organizations. */
  persons: Set<string>
}

const CACHE_MS = 60 * 60 * 1000
const MAX_PAGE_SIZE = 50

/** Returns a function that reads a KnownForge once and caches it for an hour, so that an upgrade of the forge is noticed. */
export function knownForgeCache(client: ForgeClient, now: () => number = Date.now) {
  let cached: { forge: KnownForge; until: number } | undefined
  return async (signal: AbortSignal): Promise<KnownForge> => {
    if (!cached || cached.until < now()) {
      const version = await readVersion(client, signal)
      const forge = {
        client,
        version,
        can: capabilitiesOf(version),
        pageSize: await readPageSize(client, signal),
        mayHide: !(await isAdministrator(client, signal)),
        persons: new Set<string>(),
      }
      cached = { forge, until: now() + CACHE_MS }
    }
    return cached.forge
  }
}

async function readPageSize(client: ForgeClient, signal: AbortSignal): Promise<number> {
  const { body } = await client.get('/settings/api', {}, signal).catch((error: unknown) => {
    if (isNotFoundOrForbidden(error)) return { body: null }
    throw error
  })
  const max = objectOf(body).max_response_items
  return typeof max === 'number' && max >= 1
    ? Math.min(MAX_PAGE_SIZE, Math.floor(max))
    : MAX_PAGE_SIZE
}

/** Returns false as well if the token has no permission to read its own user. */
async function isAdministrator(client: ForgeClient, signal: AbortSignal): Promise<boolean> {
  try {
    const request = () => client.get('/user', {}, signal)
    const response = await undefinedIfAbsent(client, request, signal)
    return booleanIn(objectOf(response?.body), 'is_admin')
  } catch (error) {
    if (isNotFoundOrForbidden(error)) return false
    throw error
  }
}
