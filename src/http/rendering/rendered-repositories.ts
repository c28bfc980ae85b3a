import type { Db } from '../../db/database.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import type { RepositoryFacts } from '../../repositories/facts.ts'
import { factsOfPage } from '../../repositories/facts-store.ts'
import type { CloneTokenOf } from '../credentials/clone-tokens.ts'
import type { Piece } from '../middleware/json-response.ts'
import { type RepositoryForm, repositoryTextRenderer } from './repository-json.ts'

const MAX_CACHE_BYTES = 32 * 1024 * 1024
/** How many repositories are rendered between two calls of `nextTurn`. */
export const RENDER_BATCH_SIZE = 50

export interface RenderOptions {
  form: RepositoryForm
  /** Returns the caller's clone token; undefined if clones are not served. */
  tokenOf: CloneTokenOf | undefined
}

/** Renders the facts with these references, in the same order. Reads those that it needs, unless they are given. */
export type ReadRendered = (
  options: RenderOptions,
  references: readonly number[],
  given?: readonly RepositoryFacts[],
) => Promise<Piece[]>

/** The JSON of a repository as bytes, with a comma before it. */
type RenderedText = { bytes: Buffer; placeholders: readonly TokenPlaceholder[] }

export type RepositoryRenderer = ReturnType<typeof createRepositoryRenderer>

/**
 * Renders repositories as pieces of JSON text, with a comma before each repository. The facts of a repository never
 * change, so the text is cached for all migrations that refer to them; clone tokens are inserted for each request.
 *
 * The cache is for clients that poll the status of a migration: one whose repositories were never requested takes several times as
 * much CPU time (`bench/results.md`).
 */
export function createRepositoryRenderer(db: Db, addresses: Addresses) {
  const cache = createTextCache<RenderedText>(MAX_CACHE_BYTES)
  const renderString = repositoryTextRenderer(addresses)

  const readWith =
    (isWorthCaching: (key: number) => boolean): ReadRendered =>
    async ({ form, tokenOf }, references, given) => {
      const keys = references.map((reference) => 2 * reference + (form === 'plain' ? 1 : 0))
      const cached = keys.map((key) => cache.get(key))
      const missing = references.filter((_, at) => cached[at] === undefined)
      if (missing.length === 0) return piecesOf(cached as RenderedText[], tokenOf)
      const factsOf = given ? undefined : await factsOfPage(db, missing)
      const texts = references.map((reference, at) => {
        if (cached[at]) return cached[at]
        const facts = given?.[at] ?? factsOf!.get(reference)!
        // Strings are sent as one piece, which takes 5 % less CPU time for a status of ten repositories.
        if (!isWorthCaching(keys[at]!)) return `,${renderString(form, facts, tokenOf)}`
        const bytes = Buffer.from(`,${renderString(form, facts)}`)
        const text = { bytes, placeholders: findTokenPlaceholders(bytes, form, [facts]) }
        cache.set(keys[at]!, text)
        return text
      })
      return piecesOf(texts, tokenOf)
    }

  return {
    /** A text is cached from its second request on. */
    read: readWith(cache.recordRequest),
    /** Like `read`, but adds nothing to the cache. */
    readUncached: readWith(() => false),
    /** Like `read`, but adds everything to the cache. */
    readCached: readWith(() => true),
  }
}

function piecesOf(texts: readonly (string | RenderedText)[], tokenOf: CloneTokenOf | undefined) {
  const pieces: Piece[] = []
  for (const text of texts) {
    if (typeof text === 'string') pieces.push(text)
    else if (tokenOf) pushWithTokens(pieces, text.bytes, text.placeholders, tokenOf)
    else pieces.push(text.bytes)
  }
  return pieces
}

const MAX_RECORDED_REQUESTS = 50_000

/** Caches texts. When they have more than `maxBytes`, all are evicted: those that clients poll are soon back. */
export function createTextCache<Text extends { bytes: Buffer }>(maxBytes: number) {
  const texts = new Map<number, Text>()
  const requested = new Set<number>()
  let bytes = 0

  return {
    get: (key: number): Text | undefined => texts.get(key),

    set(key: number, text: Text): void {
      bytes += text.bytes.length
      if (bytes > maxBytes) {
        texts.clear()
        bytes = text.bytes.length
      }
      texts.set(key, text)
    },

    /**
     * Records a request and returns whether there was an earlier one. Texts that are requested only once are not worth
     * caching: they would evict those that clients poll.
     */
    recordRequest(key: number): boolean {
      if (requested.has(key)) return true
      if (requested.size >= MAX_RECORDED_REQUESTS) requested.clear()
      requested.add(key)
      return false
    },
  }
}

/** The position of an empty `temp_clone_token` in rendered JSON. */
type TokenPlaceholder = { at: number; repositoryId: number }

/** Cannot match within a JSON string, because quotes are escaped there. */
const EMPTY_TOKEN = Buffer.from('"temp_clone_token":""')

/** Returns whether the repository or its template is private. Public repositories are cloned without a token. */
const needsTokens = (facts: RepositoryFacts): boolean =>
  facts.private || facts.template?.private === true

/** Returns the placeholders in the JSON of these repositories, which must be in the order of the JSON. */
export function findTokenPlaceholders(
  bytes: Buffer,
  form: RepositoryForm,
  repositories: readonly RepositoryFacts[],
): readonly TokenPlaceholder[] {
  // Most repositories need no token, and searching their text would take as long as rendering it.
  if (!repositories.some(needsTokens)) return []
  const placeholders: TokenPlaceholder[] = []
  let from = 0
  for (const facts of repositories) {
    // In the plain form only the template has a token.
    const withToken = [
      ...(form === 'extended' ? [facts] : []),
      ...(facts.template ? [facts.template] : []),
    ]
    for (const { id, private: isPrivate } of withToken) {
      const start = bytes.indexOf(EMPTY_TOKEN, from)
      if (start === -1) return placeholders
      from = start + EMPTY_TOKEN.length
      if (isPrivate) placeholders.push({ at: from - 1, repositoryId: id })
    }
  }
  return placeholders
}

const NO_TOKEN: Buffer = Buffer.alloc(0)

/**
 * Returns a function that inserts clone tokens into JSON. `repositories` are those of the JSON, in the extended form and in the
 * same order.
 */
export function tokenInserter(
  repositories: readonly RepositoryFacts[],
  tokenOf: CloneTokenOf | undefined,
): (json: Buffer) => Buffer {
  return (json) => {
    if (!tokenOf) return json
    const pieces: Buffer[] = []
    const placeholders = findTokenPlaceholders(json, 'extended', repositories)
    pushWithTokens(pieces, json, placeholders, tokenOf)
    return Buffer.concat(pieces)
  }
}

/** Appends the bytes to `pieces`, with a token at each placeholder. */
export function pushWithTokens(
  pieces: Piece[],
  bytes: Buffer,
  placeholders: readonly TokenPlaceholder[],
  tokenOf: CloneTokenOf,
): void {
  if (placeholders.length === 0) {
    pieces.push(bytes)
    return
  }
  let from = 0
  let token = NO_TOKEN
  for (const { at, repositoryId } of placeholders) {
    if (token !== NO_TOKEN) pieces.push(token)
    pieces.push(bytes.subarray(from, at))
    token = tokenOf(repositoryId)
    from = at
  }
  // The bytes after the last token are few: copying them is cheaper than writing another piece.
  pieces.push(Buffer.concat([token, bytes.subarray(from)]))
}
