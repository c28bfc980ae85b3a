import { undefinedIfAbsent, undefinedIfRefused } from '../../http/confirm-absence.ts'
import type { ApiClient } from '../../http/http-client.ts'
import * as json from '../../http/json-fields.ts'
import type { ForgeClient } from './forge-client.ts'
import { capabilitiesOf, type ForgeVersion } from './forge-version.ts'

const CACHE_MS = 60 * 60 * 1000
const PAGE_SIZE = 50

export type KnownForge = Awaited<ReturnType<typeof readForge>>

/** What the reader of records has to know of a host. One that is neither Gitea nor Forgejo has no version. */
export type KnownHost = Omit<KnownForge, 'client' | 'version'> & {
  client: ApiClient
  version?: ForgeVersion
}

/** Reads the version and settings of a forge, which determine how to read from it. */
async function readForge(client: ForgeClient, signal: AbortSignal) {
  const version = await client.probe(signal)
  const maxPageSize = await readMaxPageSize(client, signal)
  const isTokenRestricted = !(await isAdministrator(client, signal))
  return {
    client,
    version,
    /** A capability is set to false when its endpoint turns out to be missing. */
    can: capabilitiesOf(version),
    /** The page size for listings, and whether the forge is known to keep to it. */
    paging: {
      limit: Math.min(PAGE_SIZE, maxPageSize ?? PAGE_SIZE),
      isExact: maxPageSize !== undefined && !isTokenRestricted,
    },
    /** Whether the token is not an administrator's. Lists may then omit entries. */
    isTokenRestricted,
    /** Owners that the forge has confirmed not to be organizations. */
    notOrganizations: new Set<string>(),
  }
}

/** Returns a function that reads a KnownForge and caches it. An upgrade of the forge is noticed when the cache expires. */
export const knownForgeCache = (client: ForgeClient, now: () => number = Date.now) =>
  cacheForAnHour(now, (signal) => readForge(client, signal))

/** Returns a function that calls `load` and caches its result for an hour. */
export function cacheForAnHour<T>(now: () => number, load: (signal: AbortSignal) => Promise<T>) {
  let cached: { value: T; at: number } | undefined
  return async (signal: AbortSignal) => {
    // A time in the future means that the clock was set back.
    if (!cached || Math.abs(now() - cached.at) > CACHE_MS)
      cached = { value: await load(signal), at: now() }
    return cached.value
  }
}

const MAX_SHARED_MS = 60_000

/**
 * Returns a function that shares answers of the forge among the repositories of an export, because those about owners and people
 * concern all of them. It returns the answer to an earlier call with the same key if that was requested at `since` or later, and at
 * most a minute ago. Otherwise it calls `load`. The answer `undefined` is not shared.
 */
export function shareAnswers(now: () => number) {
  const answers = new Map<string, { sentAt: number; answer: Promise<unknown> }>()
  return async <T>(key: string, since: number, load: () => Promise<T>): Promise<T> => {
    const sentAt = now()
    for (const [each, known] of answers)
      if (Math.abs(sentAt - known.sentAt) > MAX_SHARED_MS) answers.delete(each)
    const known = answers.get(key)
    // A request that failed, or whose caller was aborted, is sent again.
    const shared =
      known && known.sentAt >= since ? await known.answer.catch(() => undefined) : undefined
    if (shared !== undefined) return shared as T
    const answer = load()
    answers.set(key, { sentAt, answer })
    return answer
  }
}

async function readMaxPageSize(client: ApiClient, signal: AbortSignal) {
  const response = await client.get('/settings/api', {}, signal).catch(undefinedIfRefused)
  const max = json.integer(json.objectOf(response?.body), 'max_response_items')
  return max >= 1 ? max : undefined
}

/** Returns false as well if the token has no permission to read its own user. */
export async function isAdministrator(client: ApiClient, signal: AbortSignal): Promise<boolean> {
  const request = () => client.get('/user', {}, signal)
  const response = await undefinedIfAbsent(client, request, signal).catch(undefinedIfRefused)
  return json.boolean(json.objectOf(response?.body), 'is_admin')
}
