import { ForgeRefused, WaitUntil } from '../../forge-errors.ts'
import type { ForgeAnswer, ForgeClient, Query } from './forge-client.ts'

export type Entry = Record<string, unknown>

export interface EntryPage {
  /** Those that no earlier page of this listing had. */
  entries: Entry[]
  /** How many there are in all, where the forge says so. */
  total: number | undefined
}

export interface Listing {
  path: string
  query?: Query
  /** How many to ask for at a time; a forge may give fewer. */
  limit: number
  /** What tells two entries apart. */
  keyOf?: (entry: Entry) => unknown
  /** The field of the answer that holds the entries; without it the answer itself is the list. */
  within?: string
}

/** Beyond so many a listing has no end: at 50 entries a page it would be a million. */
const MAX_PAGES = 20_000
/** Nobody says so much of lines in a row that nothing else comes in between. */
const MAX_LEFT_OUT_IN_A_ROW = 5000
const MAX_LISTINGS = 3

/**
 * All pages of a listing. Gitea tells the end in different ways by version and address: by `X-Total-Count`, by `Link`, or not at
 * all, and then only an empty page is the end. A page without anything new is the end too: some addresses ignore `page` and
 * give everything each time. What moves to a later page while it is read comes once; what is thereby skipped is for the
 * caller to find out, by counting.
 */
export async function* pagesOf(
  client: ForgeClient,
  { path, query = {}, limit, keyOf = byId, within }: Listing,
  signal: AbortSignal,
): AsyncGenerator<EntryPage> {
  const seen = new Set<unknown>()
  let received = 0
  for (let page = 1; page <= MAX_PAGES; page++) {
    const answer = await client.get(path, { ...query, limit, page }, signal)
    const body = within ? (answer.body as Entry | null)?.[within] : answer.body
    const all = entriesOf(body, client.url + path)
    const entries = unseen(all, seen, keyOf)
    received += all.length
    const total = totalOf(answer)
    yield { entries, total }
    const isCounted = total !== undefined && received >= total
    const isLast = answer.header('link') ? !hasNext(answer) : isCounted
    if (entries.length === 0 || isLast) return
  }
  throw endless(client.url + path)
}

const endless = (where: string) =>
  new ForgeRefused(200, `${where} does not come to an end: ${MAX_PAGES} pages were read`)

export interface FilteredListing extends Listing {
  /** Whether entries are left out that this token may not see, nobody knows how many. */
  mayHide: boolean
  /** How many entries are known to be left out: pages are cut before that. */
  leftOut: number
}

/**
 * A listing whose pages were cut before entries were left out: a short page, or an empty one, need not be the last, and its
 * total is that of the page.
 */
export async function listFiltered(
  client: ForgeClient,
  { path, query = {}, limit, keyOf = byId, mayHide, leftOut }: FilteredListing,
  signal: AbortSignal,
): Promise<Entry[]> {
  const seen = new Set<unknown>()
  const found: Entry[] = []
  let emptyPages = 0
  for (let page = 1; page <= MAX_PAGES; page++) {
    const answer = await client.get(path, { ...query, limit, page }, signal)
    const all = Array.isArray(answer.body) ? answer.body.length : 0
    const entries = unseen(entriesOf(answer.body, client.url + path), seen, keyOf)
    for (const each of entries) found.push(each)
    // More than was asked for is everything: this version does not cut pages here.
    if (all > limit) return found
    emptyPages = entries.length === 0 ? emptyPages + 1 : 0
    // How many are left out is what the forge says of reviews, and may be anything.
    const mayGoOn = emptyPages * limit < MAX_LEFT_OUT_IN_A_ROW
    if (page * limit < found.length + leftOut && mayGoOn) continue
    if (all === 0 || (all < limit && !mayHide) || (all > 0 && entries.length === 0)) return found
  }
  throw endless(client.url + path)
}

/**
 * All entries of a listing. What is deleted meanwhile pulls another over to a page that was read: where fewer came than the forge
 * counted, it is listed again. Some lists count what they do not show: those are as short the second time.
 */
export async function listAll(
  client: ForgeClient,
  listing: Listing,
  signal: AbortSignal,
): Promise<Entry[]> {
  for (let listings = 1; listings <= MAX_LISTINGS; listings++) {
    const { entries, isShort, hasShrunk } = await listOnce(client, listing, signal)
    if (!isShort || (!hasShrunk && listings > 1)) return entries
  }
  const words = `the entries of ${client.url}${listing.path} change faster than they can be listed`
  throw new WaitUntil(Date.now() + 60_000, 'away', words)
}

async function listOnce(client: ForgeClient, listing: Listing, signal: AbortSignal) {
  const all: Entry[] = []
  let [pages, most, hasShrunk] = [0, 0, false]
  for await (const { entries, total } of pagesOf(client, listing, signal)) {
    for (const each of entries) all.push(each)
    pages++
    hasShrunk ||= total !== undefined && total < most
    most = Math.max(most, total ?? 0)
  }
  return { entries: all, isShort: pages > 1 && all.length < most, hasShrunk }
}

/**
 * What is given whole in one answer, whatever page is asked for. Should a version cut it into pages after all, and say so, they are
 * read.
 */
export async function listWhole(
  client: ForgeClient,
  path: string,
  signal: AbortSignal,
  keyOf: (entry: Entry) => unknown = byId,
): Promise<Entry[]> {
  const answer = await client.get(path, {}, signal)
  const entries = entriesOf(answer.body, client.url + path)
  const isCut = (totalOf(answer) ?? 0) > entries.length || hasNext(answer)
  return isCut ? listAll(client, { path, limit: USUAL_LIMIT, keyOf }, signal) : entries
}

const USUAL_LIMIT = 50

const hasNext = ({ header }: ForgeAnswer) => /rel="?next"?/.test(header('link') ?? '')

/** Some have no number, such as rules of branches: all of it tells them apart. */
const byId = (entry: Entry) => entry.id ?? JSON.stringify(entry)

function unseen(entries: Entry[], seen: Set<unknown>, keyOf: (entry: Entry) => unknown): Entry[] {
  return entries.filter((entry) => {
    const key = keyOf(entry)
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

/** Gitea writes null for an empty list, and for an entry that it failed to put together. */
function entriesOf(body: unknown, where: string): Entry[] {
  if (body === null) return []
  if (!Array.isArray(body))
    throw new ForgeRefused(200, `${where} answers with something else than a list`)
  return body.filter((each) => typeof each === 'object' && each !== null)
}

export function totalOf({ header }: ForgeAnswer): number | undefined {
  const said = header('x-total-count') ?? ''
  return /^\d{1,12}$/.test(said) ? Number(said) : undefined
}
