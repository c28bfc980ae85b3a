import type { Logger } from 'pino'
import { NotFound } from '../../../lib/request-errors.ts'
import type { CatalogueEntry } from '../../../repositories/repository-store.ts'
import type { RefQuery, RepositoryName, Source } from '../../../sources/source.ts'
import { Unreadable } from '../../../sources/unreadable.ts'
import { overloaded } from '../../middleware/http-errors.ts'

type Entry = Pick<CatalogueEntry, 'id' | 'owner' | 'name'>

interface ReaderParts {
  /** Undefined if this process has no access to the repositories. */
  source: Source | undefined
  log: Logger
}

/** For reads that run git. Few run, because exports need the cores. Few wait, because each holds a request open. */
const READ_LIMIT = { max: 2, maxWaiting: 100 }
/** For checks whether a repository has changed. Each reads all loose refs, but runs no git. */
const CHECK_LIMIT = { max: 8, maxWaiting: 500 }
const MAX_CACHED_RESULTS = 200
const READ_TIMEOUT_MS = 30_000

/**
 * Reads what is not in the database: branches, tags and files of a repository. Each result is cached until the repository changes,
 * which is checked at every request without git.
 */
export function createSourceReader({ source, log }: ReaderParts) {
  const cache = new Map<string, Promise<unknown>>()
  const [limitRead, limitCheck] = [limitConcurrency(READ_LIMIT), limitConcurrency(CHECK_LIMIT)]

  /** Evicts the least recently requested result. */
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
    read: (source: Source, repository: RepositoryName, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    try {
      if (!source) throw new Unreadable('this process has no repositories (--repositories)')
      const found = await limitCheck(() => source.find(owner.login, name))
      if (!found) throw new Unreadable('it no longer exists')
      return await readCached(`${id} ${found.stamp} ${query}`, () =>
        read(source, { owner: owner.login, name }, AbortSignal.timeout(READ_TIMEOUT_MS)),
      )
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      const repository = `${owner.login}/${name}`
      log.warn({ repository, reason: error.message }, `cannot read the ${what} of ${repository}`)
      throw new NotFound()
    }
  }

  return {
    refs: (entry: Entry, query: RefQuery) =>
      readSource(
        entry,
        { what: query.kind, query: JSON.stringify(query) },
        (from, repository, signal) => from.refs(repository, query, signal),
      ),
    languages: (entry: Entry) =>
      readSource(entry, { what: 'languages' }, (from, repository, signal) =>
        from.languages(repository, signal),
      ),
    /** Resolves to undefined if the repository has no licence file. */
    licenseFile: (entry: Entry) =>
      readSource(entry, { what: 'licence' }, (from, repository, signal) =>
        from.licenseFile(repository, signal),
      ),
  }
}

/** Returns a function that runs at most `max` tasks at a time, in the order of the calls. It throws 503 if too many wait. */
function limitConcurrency({ max, maxWaiting }: { max: number; maxWaiting: number }) {
  const waiting: (() => void)[] = []
  let running = 0
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (waiting.length >= maxWaiting) throw overloaded()
    if (running >= max) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      // The next task takes over the slot, so `running` does not change.
      if (next) next()
      else running--
    }
  }
}
