import { isNotFoundOrForbidden } from '../../forge-errors.ts'
import { undefinedIfAbsent } from './confirm-absence.ts'
import type { ForgeClient } from './forge-client.ts'
import { booleanIn, objectOf } from './forge-values.ts'
import { capabilitiesOf, type ForgeVersion, readVersion } from './forge-version.ts'

/** The version and settings of a forge, which determine how to read from it. */
export interface KnownForge {
  client: ForgeClient
  version: ForgeVersion
  /** A capability is set to false when its endpoint turns out to be missing. */
  can: ReturnType<typeof capabilitiesOf>
  pageSize: number
  /** Whether the token is not an administrator's. Lists may then omit entries. */
  isTokenRestricted: boolean
  /** Owners that the forge has confirmed not to be organizations. */
  notOrganizations: Set<string>
}

const CACHE_MS = 60 * 60 * 1000
const MAX_PAGE_SIZE = 50

/** Returns a function that reads a KnownForge and caches it. An upgrade of the forge is noticed when the cache expires. */
export const knownForgeCache = (client: ForgeClient, now: () => number = Date.now) =>
  cacheForAnHour<KnownForge>(now, async (signal) => {
    const version = await readVersion(client, signal)
    return {
      client,
      version,
      can: capabilitiesOf(version),
      pageSize: await readPageSize(client, signal),
      isTokenRestricted: !(await isAdministrator(client, signal)),
      notOrganizations: new Set(),
    }
  })

/** Returns a function that calls `load` and caches its result for an hour. */
export function cacheForAnHour<T>(
  now: () => number,
  load: (signal: AbortSignal) => Promise<T>,
): (signal: AbortSignal) => Promise<T> {
  let cached: { value: T; until: number } | undefined
  return async (signal) => {
    if (!cached || cached.until < now())
      cached = { value: await load(signal), until: now() + CACHE_MS }
    return cached.value
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
