import type { Answer, ForgeClient, Query } from './forge-client.ts'
import { ForgeRefused } from './forge-errors.ts'

export type Entry = Record<string, unknown>

export interface Page {
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
): AsyncGenerator<Page> {
  const seen = new Set<unknown>()
  let received = 0
  for (let page = 1; ; page++) {
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
}

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
  for (let page = 1; ; page++) {
    const answer = await client.get(path, { ...query, limit, page }, signal)
    const all = Array.isArray(answer.body) ? answer.body.length : 0
    const entries = unseen(entriesOf(answer.body, client.url + path), seen, keyOf)
    found.push(...entries)
    // More than was asked for is everything: this version does not cut pages here.
    if (all > limit) return found
    if (page * limit < found.length + leftOut) continue
    if (all === 0 || (all < limit && !mayHide) || (all > 0 && entries.length === 0)) return found
  }
}

export async function listAll(
  client: ForgeClient,
  listing: Listing,
  signal: AbortSignal,
): Promise<Entry[]> {
  const all: Entry[] = []
  for await (const { entries } of pagesOf(client, listing, signal)) all.push(...entries)
  return all
}

/**
 * What is given whole in one answer, whatever page is asked for. Should a version cut it into pages after all, and say so, they are
 * read.
 */
export async function listWhole(
  client: ForgeClient,
  path: string,
  signal: AbortSignal,
): Promise<Entry[]> {
  const answer = await client.get(path, {}, signal)
  const entries = entriesOf(answer.body, client.url + path)
  const isCut = (totalOf(answer) ?? 0) > entries.length || hasNext(answer)
  return isCut ? listAll(client, { path, limit: USUAL_LIMIT }, signal) : entries
}

const USUAL_LIMIT = 50

const hasNext = ({ header }: Answer) => /rel="?next"?/.test(header('link') ?? '')

const byId = (entry: Entry) => entry.id

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

export function totalOf({ header }: Answer): number | undefined {
  const said = header('x-total-count') ?? ''
  return /^\d{1,12}$/.test(said) ? Number(said) : undefined
}
