import type { Logger } from 'pino'
import { NotFound } from '../../../migrations/errors.ts'
import type { CatalogueEntry } from '../../../repositories/repository-store.ts'
import type { AskedRefs, LicenseFile, RefPage, Source } from '../../../sources/source.ts'
import { Unreadable } from '../../../sources/unreadable.ts'
import { busy } from '../../middleware/refusals.ts'

type Entry = Pick<CatalogueEntry, 'id' | 'owner' | 'name'>

/** What of a repository is in no database: its branches, its tags and its files. */
export interface RepositoryViews {
  refs(entry: Entry, asked: AskedRefs): Promise<RefPage>
  languages(entry: Entry): Promise<Record<string, number>>
  /** Undefined where it has none. */
  licenseFile(entry: Entry): Promise<LicenseFile | undefined>
}

interface ViewParts {
  /** Absent where the repositories are not at hand. */
  source: Source | undefined
  log: Logger
}

/** Gits at a time: an export next to them needs the cores more. Those that wait are requests under way: more would keep others out. */
const READING = { atOnce: 2, maxWaiting: 100 }
/** To see whether a repository has changed, every loose ref is looked at: there may be many. */
const LOOKING = { atOnce: 8, maxWaiting: 500 }
const MAX_KEPT = 200
const DEADLINE_MS = 30_000

/** Read once for as long as the repository is as it was: whether it is, is asked each time without git. */
export function repositoryViews({ source, log }: ViewParts): RepositoryViews {
  const kept = new Map<string, Promise<unknown>>()
  const [takeTurn, takeLook] = [turns(READING), turns(LOOKING)]

  /** The one that was not asked for the longest time is forgotten first. */
  function remember<T>(key: string, read: () => Promise<T>): Promise<T> {
    const known = kept.get(key) as Promise<T> | undefined
    const answer = known ?? takeTurn(read)
    kept.delete(key)
    kept.set(key, answer)
    if (known) return known
    answer.catch(() => kept.delete(key))
    if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value!)
    return answer
  }

  async function view<T>(
    { id, owner, name }: Entry,
    { what, asked = what }: { what: string; asked?: string },
    read: (source: Source, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    try {
      if (!source) throw new Unreadable('this process has no repositories (--repositories)')
      const found = await takeLook(() => source.find(owner.login, name))
      if (!found) throw new Unreadable('it no longer exists')
      const key = `${id} ${found.stamp} ${asked}`
      return await remember(key, () => read(source, AbortSignal.timeout(DEADLINE_MS)))
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      const repository = `${owner.login}/${name}`
      log.warn({ repository, reason: error.message }, `cannot read the ${what} of ${repository}`)
      throw new NotFound()
    }
  }

  return {
    refs: (entry, asked) =>
      view(entry, { what: asked.kind, asked: JSON.stringify(asked) }, (from, signal) =>
        from.refs(named(entry), asked, signal),
      ),
    languages: (entry) =>
      view(entry, { what: 'languages' }, (from, signal) => from.languages(named(entry), signal)),
    licenseFile: (entry) =>
      view(entry, { what: 'licence' }, (from, signal) => from.licenseFile(named(entry), signal)),
  }
}

const named = ({ owner, name }: Entry) => ({ owner: owner.login, name })

/** Some at a time, in the order in which they came. */
function turns({ atOnce, maxWaiting }: { atOnce: number; maxWaiting: number }) {
  const waiting: (() => void)[] = []
  let running = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (waiting.length >= maxWaiting) throw busy()
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      // Whoever waits takes the place over.
      if (next) next()
      else running--
    }
  }
}
