import type { Db } from '../../db/database.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { metadataOfPage } from '../../repositories/metadata-store.ts'
import { type CloneTokenOf, splitAtTokens } from '../credentials/clone-tokens.ts'
import { type RepositoryForm, repositoryTextRenderer } from './repository-json.ts'

const MAX_CACHE_BYTES = 32 * 1024 * 1024

export interface RenderOptions {
  form: RepositoryForm
  /** Returns the caller's clone token; undefined if clones are not served. */
  tokenOf: CloneTokenOf | undefined
  /** Whether the text is added to the cache. A large response would evict what other clients poll. */
  isCached: boolean
}

/** The JSON of a repository: bytes, and the ids of the repositories whose clone tokens are between them. */
type RenderedRepository = readonly (Buffer | number)[]

/**
 * Returns a function that renders the metadata with these references, in the same order, as pieces of a JSON list with a comma before each
 * repository. Metadata never change, so their JSON is cached for all migrations that refer to them; clone tokens are inserted for each
 * request. When the cache is full, all of it is evicted: what clients poll is soon back.
 *
 * The cache is for clients that poll the status of a migration: one whose repositories were never requested takes about three times as
 * much CPU time (`bench/results.md`). To store the JSON beside the metadata would add about 80 µs to each of the 200 µs of a polled status
 * of ten repositories (`docs/decisions/0024-rendered-repositories-in-memory.md`).
 */
export function repositoryRenderer(db: Db, addresses: Addresses, maxBytes = MAX_CACHE_BYTES) {
  const cache = new Map<number, RenderedRepository>()
  let cachedBytes = 0

  function addToCache(key: number, rendered: RenderedRepository): void {
    cachedBytes += sizeOf(rendered)
    if (cachedBytes > maxBytes) {
      cache.clear()
      cachedBytes = sizeOf(rendered)
    }
    cache.set(key, rendered)
  }

  return async (options: RenderOptions, references: readonly number[]): Promise<Buffer[]> => {
    const { form, isCached, tokenOf } = options
    const keyOf = (reference: number) => 2 * reference + (form === 'plain' ? 1 : 0)
    const known = references.map((reference) => cache.get(keyOf(reference)))
    const missing = references.filter((_, at) => !known[at])
    const metadata = missing.length === 0 ? undefined : await metadataOfPage(db, missing)
    const textOf = metadata && repositoryTextRenderer(form, addresses)
    const pieces: Buffer[] = []
    for (const [at, reference] of references.entries()) {
      let rendered = known[at]
      if (!rendered) {
        rendered = splitText(`,${textOf!(metadata!.get(reference)!)}`)
        if (isCached) addToCache(keyOf(reference), rendered)
      }
      pushWithTokens(pieces, rendered, tokenOf)
    }
    return pieces
  }
}

const splitText = (text: string): RenderedRepository =>
  splitAtTokens(text).map((part, at) => (at % 2 === 0 ? Buffer.from(part) : Number(part)))

const sizeOf = (rendered: RenderedRepository): number =>
  rendered.reduce<number>((sum, part) => sum + (typeof part === 'number' ? 0 : part.length), 0)

function pushWithTokens(
  pieces: Buffer[],
  rendered: RenderedRepository,
  tokenOf: CloneTokenOf | undefined,
): void {
  for (const part of rendered) {
    if (typeof part !== 'number') pieces.push(part)
    else if (tokenOf) pieces.push(tokenOf(part))
  }
}
