import { ForgeRefused, WaitUntil } from '../../forge-errors.ts'
import type { ForgeAnswer, ForgeClient, Query } from './forge-client.ts'

export type Entry = Record<string, unknown>

export interface EntryPage {
  /** Those that no earlier page of this listing had. */
  entries: Entry[]
  /** How many there are in all, where the forge says so. */
  total: number | undefined
  /** How many entries of the page cannot be used. */
  unusable: number
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
  /** Whether an entry is what is listed here. Any object with fields is, unless this says otherwise. */
  isUsable?: (entry: Entry) => boolean
  /**
   * Called if the forge counts or lists entries that it does not give, with how many they are, after they were asked for again.
   * Without it, such a listing rejects with ForgeRefused.
   */
  onMissing?: (count: number) => void
}

/** Beyond so many a listing has no end: at 50 entries a page it would be a million. */
const MAX_PAGES = 20_000
/** Nobody says so much of lines in a row that nothing else comes in between. */
const MAX_LEFT_OUT_IN_A_ROW = 5000
const MAX_LISTINGS = 3
/** A listing ends after so many pages in a row without one usable entry. */
const MAX_BARREN_PAGES = 20

/**
 * All pages of a listing. Gitea tells the end in different ways by version and address: by `X-Total-Count`, by `Link`, or not at
 * all, and then only an empty page is the end. A page without anything new is the end too: some addresses ignore `page` and
 * give everything each time. A count that contradicts what was received tells no end. What moves to a later page while it is
 * read comes once; what is thereby skipped is for the caller to find out, by counting.
 */
export async function* pagesOf(
  client: ForgeClient,
  listing: Listing,
  signal: AbortSignal,
): AsyncGenerator<EntryPage> {
  const { limit, keyOf = byId } = listing
  const seen = new Set<unknown>()
  let [received, barrenPages] = [0, 0]
  for (let page = 1; page <= MAX_PAGES; page++) {
    const { answer, all, unusable } = await getPage(client, listing, { limit, page }, signal)
    const entries = unseen(all, seen, keyOf)
    received += all.length + unusable
    const total = totalOf(answer)
    yield { entries, total, unusable }
    // Some addresses count a page instead of all.
    const mayBeOfPage = page === 1 && received >= limit
    const isSaid = answer.header('link') ? !hasNext(answer) : total !== undefined && !mayBeOfPage
    const isLast = isSaid && (total === undefined || received === total)
    // A page of unusable entries only need not be the last.
    barrenPages = entries.length > 0 ? 0 : barrenPages + 1
    const isOver = entries.length === 0 && (all.length > 0 || unusable === 0)
    if (isOver || isLast || barrenPages === MAX_BARREN_PAGES) return
  }
  throw endless(client.url + listing.path)
}

/** Gets one page. A page with entries that cannot be used is asked for once more. */
async function getPage(
  client: ForgeClient,
  { path, query = {}, within, isUsable = () => true }: Omit<Listing, 'limit'>,
  paging: Query,
  signal: AbortSignal,
) {
  for (let isSecond = false; ; isSecond = true) {
    const answer = await client.get(path, { ...query, ...paging }, signal)
    const body = within ? (answer.body as Entry | null)?.[within] : answer.body
    const listed = entriesOf(body, client.url + path)
    const all = listed.filter((entry): entry is Entry => isEntry(entry) && isUsable(entry))
    const unusable = listed.length - all.length
    if (unusable === 0 || isSecond) return { answer, all, unusable }
  }
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
  listing: FilteredListing,
  signal: AbortSignal,
): Promise<Entry[]> {
  const { limit, keyOf = byId, mayHide, leftOut } = listing
  const seen = new Set<unknown>()
  const found: Entry[] = []
  let [emptyPages, missing] = [0, 0]
  const end = () => withMissing(client, listing, found, missing)
  for (let page = 1; page <= MAX_PAGES; page++) {
    const given = await getPage(client, listing, { limit, page }, signal)
    const all = given.all.length + given.unusable
    const entries = unseen(given.all, seen, keyOf)
    for (const each of entries) found.push(each)
    missing += given.unusable
    // More than was asked for is everything: this version does not cut pages here.
    if (all > limit) return end()
    emptyPages = entries.length === 0 ? emptyPages + 1 : 0
    // How many are left out is what the forge says of reviews, and may be anything.
    const mayGoOn = emptyPages * limit < MAX_LEFT_OUT_IN_A_ROW
    if (page * limit < found.length + leftOut && mayGoOn) continue
    const isBarren = entries.length === 0 && (given.all.length > 0 || !mayGoOn)
    if (all === 0 || (all < limit && !mayHide) || isBarren) return end()
  }
  throw endless(client.url + listing.path)
}

/**
 * All entries of a listing. What is deleted meanwhile pulls another over to a page that was read: where fewer came than the forge
 * counted, it is listed again. Some lists count what they do not show: those are as short the second time, and `onMissing` is
 * called.
 */
export async function listAll(
  client: ForgeClient,
  listing: Listing,
  signal: AbortSignal,
): Promise<Entry[]> {
  for (let listings = 1; listings <= MAX_LISTINGS; listings++) {
    const { entries, missing, hasShrunk } = await listOnce(client, listing, signal)
    if (missing === 0 || (!hasShrunk && listings > 1))
      return withMissing(client, listing, entries, missing)
  }
  const words = `the entries of ${client.url}${listing.path} change faster than they can be listed`
  throw new WaitUntil(Date.now() + 60_000, 'away', words)
}

async function listOnce(client: ForgeClient, listing: Listing, signal: AbortSignal) {
  const all: Entry[] = []
  let [pages, most, unusableInAll, hasShrunk] = [0, 0, 0, false]
  for await (const { entries, total, unusable } of pagesOf(client, listing, signal)) {
    for (const each of entries) all.push(each)
    pages++
    unusableInAll += unusable
    hasShrunk ||= total !== undefined && total < most
    most = Math.max(most, total ?? 0)
  }
  const uncounted = pages > 1 ? most - all.length : 0
  return { entries: all, missing: Math.max(unusableInAll, uncounted), hasShrunk }
}

function withMissing(
  { url }: ForgeClient,
  { path, onMissing }: Pick<Listing, 'path' | 'onMissing'>,
  entries: Entry[],
  missing: number,
): Entry[] {
  if (missing === 0) return entries
  if (!onMissing)
    throw new ForgeRefused(200, `${url}${path}: ${missing} of its entries cannot be read`)
  onMissing(missing)
  return entries
}

/**
 * What is given whole in one answer, whatever page is asked for. Should a version cut it into pages after all, and say so, they are
 * read.
 */
export async function listWhole(
  client: ForgeClient,
  listing: Omit<Listing, 'limit'>,
  signal: AbortSignal,
): Promise<Entry[]> {
  const { answer, all, unusable } = await getPage(client, listing, {}, signal)
  const received = all.length + unusable
  const isCut = (totalOf(answer) ?? received) !== received || hasNext(answer)
  if (isCut) return listAll(client, { ...listing, limit: USUAL_LIMIT }, signal)
  return withMissing(client, listing, all, unusable)
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

/** Gitea writes null for an empty list. */
function entriesOf(body: unknown, where: string): unknown[] {
  if (body === null) return []
  if (!Array.isArray(body))
    throw new ForgeRefused(200, `${where} answers with something else than a list`)
  return body
}

/** Gitea writes null for an entry that it failed to put together. */
const isEntry = (each: unknown): each is Entry =>
  typeof each === 'object' && each !== null && !Array.isArray(each) && Object.keys(each).length > 0

export function totalOf({ header }: ForgeAnswer): number | undefined {
  const said = header('x-total-count') ?? ''
  return /^\d{1,12}$/.test(said) ? Number(said) : undefined
}
