import { Unreadable } from '@godwit/git/unreadable'
import type { RefQuery, RepositoryName, Source } from '@godwit/hosts/source'
import { NotFound } from '@godwit/lib/request-errors'
import type { Logger } from 'pino'
import type { IndexedRepository } from '../../../repositories/repository-store.ts'
import { type Client, concurrencyLimit, withSlot } from '../../middleware/concurrency-limit.ts'

type Entry = Pick<IndexedRepository, 'id' | 'owner' | 'name'>

/** For reads that run git. Few run, because exports need the cores. Few wait, because each holds a request open. */
const READ_LIMIT = { max: 2, maxPerCaller: 1, maxWaiting: 200 }
/** For checks whether a repository has changed. Each reads all loose refs, but runs no git. */
const CHECK_LIMIT = { max: 8, maxPerCaller: 4, maxWaiting: 500 }
const MAX_CACHED_RESULTS = 200
const READ_TIMEOUT_MS = 30_000

export type SourceReader = ReturnType<typeof createSourceReader>

/**
 * Reads what is not in the database: branches, tags and files of a repository. Each result is cached until the repository changes,
 * which is checked at every request without git.
 */
export function createSourceReader({ source, log }: { source: Source | undefined; log: Logger }) {
  const cache = new Map<string, Promise<unknown>>()
  const [readLimit, checkLimit] = [concurrencyLimit(READ_LIMIT), concurrencyLimit(CHECK_LIMIT)]

  /** Evicts the least recently requested result. */
  function readCached<T>(key: string, read: () => Promise<T>): Promise<T> {
    const cached = cache.get(key) as Promise<T> | undefined
    const result = cached ?? read()
    cache.delete(key)
    cache.set(key, result)
    if (cached) return cached
    result.catch(() => cache.delete(key))
    if (cache.size > MAX_CACHED_RESULTS) cache.delete(cache.keys().next().value!)
    return result
  }

  async function readSource<T>(
    client: Client,
    { id, owner, name }: Entry,
    { what, query = what }: { what: string; query?: string },
    read: (source: Source, repository: RepositoryName, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    try {
      if (!source) throw new Unreadable('this process has no repositories (--repositories)')
      const found = await withSlot(checkLimit, client, () => source.find(owner.login, name))
      if (!found) throw new Unreadable('it no longer exists')
      const key = `${id} ${found.changeToken} ${query}`
      const result = () =>
        readCached(key, () =>
          read(source, { owner: owner.login, name }, AbortSignal.timeout(READ_TIMEOUT_MS)),
        )
      // Each caller waits for a slot of its own, even for the same result: a caller may disconnect and must not fail the others.
      return await (cache.has(key) ? result() : withSlot(readLimit, client, result))
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      const repository = `${owner.login}/${name}`
      log.warn({ repository, reason: error.message }, `cannot read the ${what} of ${repository}`)
      throw new NotFound()
    }
  }

  return {
    refs: (client: Client, entry: Entry, query: RefQuery) =>
      readSource(
        client,
        entry,
        { what: query.kind, query: JSON.stringify(query) },
        (from, repository, signal) => from.refs(repository, query, signal),
      ),
    languages: (client: Client, entry: Entry) =>
      readSource(client, entry, { what: 'languages' }, (from, repository, signal) =>
        from.languages(repository, signal),
      ),
    /** Resolves to undefined if the repository has no licence file. */
    licenseFile: (client: Client, entry: Entry) =>
      readSource(client, entry, { what: 'licence' }, (from, repository, signal) =>
        from.licenseFile(repository, signal),
      ),
  }
}
