import type { Logger } from 'pino'
import { NotFound } from '../../../migrations/errors.ts'
import type { CatalogueEntry } from '../../../repositories/repository-store.ts'
import type { LicenseFile, RefPage, RefQuery, Source } from '../../../sources/source.ts'
import { Unreadable } from '../../../sources/unreadable.ts'
import { overloaded } from '../../middleware/http-errors.ts'

type Entry = Pick<CatalogueEntry, 'id' | 'owner' | 'name'>

/** Reads what is not in the database: branches, tags and files of a repository. */
export interface SourceReader {
  refs(entry: Entry, query: RefQuery): Promise<RefPage>
  languages(entry: Entry): Promise<Record<string, number>>
  /** Returns undefined if the repository has none. */
  licenseFile(entry: Entry): Promise<LicenseFile | undefined>
}

interface ReaderParts {
  /** Undefined if this process has no access to the repositories. */
  source: Source | undefined
  log: Logger
}

/** Reads that run git. Few, because exports need the cores; waiting reads hold open requests, so these are limited too. */
const READ_LIMIT = { max: 2, maxWaiting: 100 }
/** Checks whether a repository has changed. Each reads all loose refs, but runs no git. */
const CHECK_LIMIT = { max: 8, maxWaiting: 500 }
const MAX_CACHED_RESULTS = 200
const READ_TIMEOUT_MS = 30_000

/** Caches each result until the repository changes, which is checked at every request without git. */
export function createSourceReader({ source, log }: ReaderParts): SourceReader {
  const cache = new Map<string, Promise<unknown>>()
  const [limitRead, limitCheck] = [concurrencyLimit(READ_LIMIT), concurrencyLimit(CHECK_LIMIT)]

  /** Evicts the result that was not requested for the longest time. */
  function readCached<T>(key: string, read: () => Promise<T>): Promise<T> {
    const cached = cache.get(key) as Promise<T> | undefined
    const result = cached ?? limitRead(read)
    cache.delete(key)
    cache.set(key, result)
    if (cached) return cached
    result.catch(() => cache.delete(key))
    if (cache.size > MAX_CACHED_RESULTS) cache.delete(cache.keys().next().value!)
    return result
  }

  async function readSource<T>(
    { id, owner, name }: Entry,
    { what, query = what }: { what: string; query?: string },
    read: (source: Source, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    try {
      if (!source) throw new Unreadable('this process has no repositories (--repositories)')
      const found = await limitCheck(() => source.find(owner.login, name))
      if (!found) throw new Unreadable('it no longer exists')
      const key = `${id} ${found.stamp} ${query}`
      return await readCached(key, () => read(source, AbortSignal.timeout(READ_TIMEOUT_MS)))
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      const repository = `${owner.login}/${name}`
      log.warn({ repository, reason: error.message }, `cannot read the ${what} of ${repository}`)
      throw new NotFound()
    }
  }

  return {
    refs: (entry, query) =>
      readSource(entry, { what: query.kind, query: JSON.stringify(query) }, (from, signal) =>
        from.refs(nameOf(entry), query, signal),
      ),
    languages: (entry) =>
      readSource(entry, { what: 'languages' }, (from, signal) =>
        from.languages(nameOf(entry), signal),
      ),
    licenseFile: (entry) =>
      readSource(entry, { what: 'licence' }, (from, signal) =>
        from.licenseFile(nameOf(entry), signal),
      ),
  }
}

const nameOf = ({ owner, name }: Entry) => ({ owner: owner.login, name })

/** Runs at most `max` at a time, in the order of their arrival. Throws 503 if too many wait. */
function concurrencyLimit({ max, maxWaiting }: { max: number; maxWaiting: number }) {
  const waiting: (() => void)[] = []
  let running = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (waiting.length >= maxWaiting) throw overloaded()
    if (running >= max) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      // The next one takes over the slot, so `running` stays as it is.
      if (next) next()
      else running--
    }
  }
}
