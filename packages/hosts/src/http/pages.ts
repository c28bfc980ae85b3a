import { HostRequestFailed, HostUnavailable } from '../host-errors.ts'
import type { ApiClient, ApiResponse, Query } from './http-client.ts'
import type { Json } from './json-fields.ts'
import * as json from './json-fields.ts'

export interface Listing {
  path: string
  query?: Query
  /** The requested page size. */
  limit: number
  /** Whether every page but the last has `limit` entries. Otherwise the host may send fewer. */
  isExact?: boolean
  /** Returns a key that identifies an entry. By default this is its `id`, or the JSON of the entry if it has no id. */
  keyOf?: (entry: Json) => unknown
  /** The field of the body that contains the entries. If it is not set, the body itself is the list. */
  within?: string
  /** By default, any object that has fields is usable. */
  isUsable?: (entry: Json) => boolean
  /**
   * Called with the number of entries that are missing or unusable although the host counts or lists them, after a second attempt.
   * If it is not set, such a listing rejects with HostRequestFailed.
   */
  onMissing?: (count: number) => void
}

/** The limit for a listing that does not end. At 50 entries per page, it allows a million entries. */
const MAX_PAGES = 20_000
/** The most omitted entries in a row that a filtered listing skips. */
const MAX_OMITTED_IN_A_ROW = 5000
const MAX_LISTINGS = 3
/** A listing ends after this many pages in a row without a usable entry. */
const MAX_PAGES_WITHOUT_ENTRY = 20
const PAGE_SIZE = 50

/**
 * Yields all pages of a listing: the entries that no earlier page had, the total of all pages if the host sends it, and how many
 * entries of the page cannot be used. Versions and endpoints of Gitea mark the last page in different ways: by `X-Total-Count`, by
 * `Link`, or only by a short page or an empty page after it. A page without a new entry is the end too, because some endpoints
 * ignore `page` and send everything each time. A total that contradicts the received entries is ignored. An entry that moves to a
 * later page during the listing is yielded once. Callers detect skipped entries by comparing their number with the total.
 */
export async function* pagesOf(client: ApiClient, listing: Listing, signal: AbortSignal) {
  const { limit, isExact = false, keyOf = idOrJson } = listing
  const seen = new Set<unknown>()
  let [received, pagesWithoutEntry] = [0, 0]
  for (let page = 1; page <= MAX_PAGES; page++) {
    const { response, all, unusable } = await getPage(client, listing, { limit, page }, signal)
    const entries = newEntries(all, seen, keyOf)
    received += all.length + unusable
    const total = totalOf(response)
    yield { entries, total, unusable }
    // Some endpoints send the size of the page as the total.
    const mayBePageSize = page === 1 && received >= limit
    const isMarked = response.header('link')
      ? !hasNext(response)
      : total !== undefined && !mayBePageSize
    const isShort = isExact && all.length + unusable < limit
    const isLast = (isMarked || isShort) && (total === undefined || received === total)
    // A page that has only unusable entries need not be the last.
    pagesWithoutEntry = entries.length > 0 ? 0 : pagesWithoutEntry + 1
    const isOver = entries.length === 0 && (all.length > 0 || unusable === 0)
    if (isOver || isLast || pagesWithoutEntry === MAX_PAGES_WITHOUT_ENTRY) return
  }
  throw tooManyPages(client, listing)
}

/** Gets one page. A page with unusable entries is requested a second time. */
async function getPage(
  client: ApiClient,
  { path, query = {}, within, isUsable = () => true }: Omit<Listing, 'limit'>,
  paging: Query,
  signal: AbortSignal,
) {
  for (let isSecond = false; ; isSecond = true) {
    const response = await client.get(path, { ...query, ...paging }, signal)
    const body = within ? (response.body as Json | null)?.[within] : response.body
    // Gitea sends null for an empty list.
    const listed: unknown = body === null ? [] : body
    if (!Array.isArray(listed))
      throw new HostRequestFailed(200, `${client.url}${path} did not return a list`)
    // Gitea sends null for an entry that it failed to render.
    const all = listed
      .map(json.objectOf)
      .filter((entry) => Object.keys(entry).length > 0 && isUsable(entry))
    const unusable = listed.length - all.length
    if (unusable === 0 || isSecond) return { response, all, unusable }
  }
}

const tooManyPages = ({ url }: ApiClient, { path }: Listing) =>
  new HostRequestFailed(200, `${url}${path} has more than ${MAX_PAGES} pages`)

interface FilteredListing extends Listing {
  /** Whether the host may omit an unknown number of entries that this token may not see. */
  mayOmit: boolean
  /** How many entries the host is known to omit. */
  omitted: number
}

/**
 * Lists entries of an endpoint that divides entries into pages and then omits some of them. A short or empty page need not be the
 * last, and the total is that of the page.
 */
export async function listFiltered(
  client: ApiClient,
  listing: FilteredListing,
  signal: AbortSignal,
): Promise<Json[]> {
  const { limit, keyOf = idOrJson, mayOmit, omitted } = listing
  const seen = new Set<unknown>()
  const found: Json[] = []
  let [emptyPages, missing] = [0, 0]
  for (let page = 1; page <= MAX_PAGES; page++) {
    const { all, unusable } = await getPage(client, listing, { limit, page }, signal)
    const received = all.length + unusable
    const entries = newEntries(all, seen, keyOf)
    for (const each of entries) found.push(each)
    missing += unusable
    emptyPages = entries.length === 0 ? emptyPages + 1 : 0
    // The number of omitted entries comes from the host and may be wrong.
    const maySkip = emptyPages * limit < MAX_OMITTED_IN_A_ROW
    const isExpectingMore = page * limit < found.length + omitted && maySkip
    const isStuck = entries.length === 0 && (all.length > 0 || !maySkip)
    // Even an administrator does not get references from a repository whose issues are turned off, but these are few.
    const isOver = received === 0 || (received < limit / 2 && !mayOmit) || isStuck
    // More entries than requested are all entries: this version has no pages here.
    if (received > limit || (isOver && !isExpectingMore))
      return reportMissing(client, listing, found, missing)
  }
  throw tooManyPages(client, listing)
}

/**
 * Lists all entries. If an entry is deleted during the listing, another one moves to a page that was already read and is skipped, so
 * a listing with fewer entries than the total is repeated. Some endpoints count entries that they never send. Their second listing
 * is as short as the first, and `onMissing` is called.
 */
export async function listAll(client: ApiClient, listing: Listing, signal: AbortSignal) {
  for (let listings = 1; listings <= MAX_LISTINGS; listings++) {
    const { entries, missing, hasShrunk } = await listOnce(client, listing, signal)
    if (missing === 0 || (!hasShrunk && listings > 1))
      return reportMissing(client, listing, entries, missing)
  }
  const message = `the entries of ${client.url}${listing.path} change faster than they can be listed`
  throw new HostUnavailable(Date.now() + 60_000, 'unreachable', message)
}

async function listOnce(client: ApiClient, listing: Listing, signal: AbortSignal) {
  const all: Json[] = []
  let [pages, maxTotal, allUnusable, hasShrunk] = [0, 0, 0, false]
  for await (const { entries, total, unusable } of pagesOf(client, listing, signal)) {
    for (const each of entries) all.push(each)
    pages++
    allUnusable += unusable
    hasShrunk ||= total !== undefined && total < maxTotal
    maxTotal = Math.max(maxTotal, total ?? 0)
  }
  const notSent = pages > 1 ? maxTotal - all.length : 0
  return { entries: all, missing: Math.max(allUnusable, notSent), hasShrunk }
}

function reportMissing(
  { url }: ApiClient,
  { path, onMissing }: Pick<Listing, 'path' | 'onMissing'>,
  entries: Json[],
  missing: number,
): Json[] {
  if (missing === 0) return entries
  if (!onMissing)
    throw new HostRequestFailed(200, `${url}${path}: ${missing} of its entries cannot be read`)
  onMissing(missing)
  return entries
}

/** Lists an endpoint that sends everything in one response. If a version of the host divides it into pages, all of them are read. */
export async function listUnpaged(
  client: ApiClient,
  listing: Omit<Listing, 'limit'>,
  signal: AbortSignal,
): Promise<Json[]> {
  const { response, all, unusable } = await getPage(client, listing, {}, signal)
  const received = all.length + unusable
  const hasPages = (totalOf(response) ?? received) !== received || hasNext(response)
  if (hasPages) return listAll(client, { ...listing, limit: PAGE_SIZE }, signal)
  return reportMissing(client, listing, all, unusable)
}

const hasNext = ({ header }: ApiResponse) => /rel="?next"?/.test(header('link') ?? '')

/** Some entries, such as branch protections, have no id. */
const idOrJson = (entry: Json) => entry.id ?? JSON.stringify(entry)

function newEntries(entries: Json[], seen: Set<unknown>, keyOf: (entry: Json) => unknown): Json[] {
  return entries.filter((entry) => {
    const key = keyOf(entry)
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

export function totalOf({ header }: ApiResponse): number | undefined {
  const total = header('x-total-count') ?? ''
  return /^\d{1,12}$/.test(total) ? Number(total) : undefined
}
