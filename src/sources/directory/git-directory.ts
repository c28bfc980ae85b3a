import { dirname, resolve } from 'node:path'
import type { Git } from '../../git/git.ts'
import type { FoundRepository, Listed, RepositoryName, Source, SpellingOf } from '../source.ts'
import { Unreadable } from '../unreadable.ts'
import { rememberingReader } from './directory.ts'
import { readLanguages, readLicenseFile } from './facts/head-tree.ts'
import { publicUrl } from './facts/public-url.ts'
import { readFacts } from './facts/repository-facts.ts'
import type { RepositoryCall } from './facts/repository-refs.ts'
import { stampOf } from './facts/repository-stamp.ts'
import { gitoliteFor, ownerRefusal, rightsIn, withRights } from './gitolite/rights.ts'
import { type LayoutOptions, layoutOf } from './layout/layout-of.ts'
import { checkPushLocks, hasPushLock, settlePushLocks } from './locks/repository-locks.ts'
import { readMembersFile } from './members-file.ts'
import { isDirectory, isRepository, type RepositoryPlace, wikiRefusal } from './repository-place.ts'
import { serveFetch } from './serve-fetch.ts'
import { examine } from './snapshot/examine.ts'
import { SharedLfs } from './snapshot/lfs-shared.ts'
import { takeSnapshot } from './snapshot/snapshot.ts'
import { Damaged } from './snapshot/snapshot-errors.ts'
import { warningOfExamination } from './snapshot/snapshot-warning.ts'
import { verify } from './snapshot/verify-objects.ts'
import { readRefPage } from './views/ref-page.ts'
import { asUnreadable, reasonOf } from './why-unreadable.ts'

export interface GitDirectoryOptions {
  /** A directory of bare repositories, their wikis beside them at NAME.wiki.git. */
  root: string
  git: Git
  /** OWNER/NAME.git unless told. */
  layout?: LayoutOptions | undefined
  /** Where LFS objects lie that are not in the repositories: `ab/cd/OID`, or `ab/cd/` and the rest of it. */
  lfsDirectory?: string | undefined
  /** Where they can be cloned from, with `{owner}` and `{name}`; without it a snapshot has no origin. */
  cloneUrl?: string | undefined
}

export interface GitDirectory extends Source {
  /** Where a repository is. Rejects with Unreadable. */
  directoryOf(repository: RepositoryName): Promise<string>
}

const VIEW_TIMEOUT_MS = 20_000

export function gitDirectory(options: GitDirectoryOptions): GitDirectory {
  const { root, git, lfsDirectory, cloneUrl } = options
  const top = resolve(root)
  const layout = layoutOf(top, options.layout ?? { kind: 'owner/name' })
  const read = rememberingReader()
  const gitolite = gitoliteFor(top)
  const sharedLfs = lfsDirectory === undefined ? undefined : new SharedLfs(lfsDirectory)

  async function* list(spellingOf?: SpellingOf): AsyncGenerator<Listed, void, void> {
    const rules = await gitolite({ again: true })
    for (const reason of (await rules?.warnings()) ?? [])
      yield { refused: { path: '.gitolite', reason } }
    for await (const place of layout.list({ ...(spellingOf && { spellingOf }) })) {
      if ('membersOf' in place)
        yield { members: await readMembersFile(top, place.membersOf, place.path) }
      else yield 'refused' in place ? place : await listed(place.repository)
    }
  }

  async function find(owner: string, name: string): Promise<FoundRepository | undefined> {
    // Rejects where no rights can be read at all: then nothing is known to be gone.
    await (await gitolite())?.warnings()
    for await (const place of layout.list({ only: { owner, name }, read })) {
      if (!('repository' in place)) continue
      const row = await listed(place.repository)
      return 'found' in row ? row.found : undefined
    }
    return undefined
  }

  async function listed(place: RepositoryPlace): Promise<Listed> {
    const { owner, name, path, wikiDir } = place
    const refused = { path: `${path}.git`, hides: { fullName: `${owner}/${name}` } }
    try {
      const stamp = await stampOf(place)
      const rules = await gitolite()
      if (!rules) return { found: { owner, name, stamp, hasWiki: wikiDir !== null } }
      const rights = await rightsIn(rules, place)
      const reason = ownerRefusal(place, rights)
      if (reason !== undefined) return { refused: { ...refused, reason, isWithdrawn: true } }
      const stamps = `${stamp} ${rights.stamp}`
      return { found: { owner, name, stamp: stamps, hasWiki: wikiDir !== null } }
    } catch (error) {
      // Whose rights are not known is nobody's.
      if (error instanceof Unreadable)
        return { refused: { ...refused, reason: error.message, isWithdrawn: true } }
      const reason = reasonOf(error)
      if (reason === undefined) throw error
      return { refused: { ...refused, reason } }
    }
  }

  async function placeOf(repository: RepositoryName): Promise<RepositoryPlace> {
    const [place, ...others] = await layout.placesOf(repository)
    if (!place) throw new Unreadable('the repository no longer exists')
    if (others.length > 0) throw sameName([place, ...others])
    return place
  }

  /** The same; whoever is told why not is told of which. */
  async function placeToName(repository: RepositoryName): Promise<RepositoryPlace> {
    const { owner, name } = repository
    return placeOf(repository).catch((error: unknown) => {
      if (!(error instanceof Unreadable)) throw error
      throw new Unreadable(`${owner}/${name}: ${error.message}`, { cause: error })
    })
  }

  /** For somebody who waits for it. */
  async function view<T>(
    repository: RepositoryName,
    signal: AbortSignal,
    read: (call: RepositoryCall) => Promise<T>,
  ): Promise<T> {
    const { dir } = await placeOf(repository)
    try {
      return await read({ dir, signal, timeoutMs: VIEW_TIMEOUT_MS })
    } catch (error) {
      signal.throwIfAborted()
      throw asUnreadable(error, dir)
    }
  }

  return {
    list,
    find,
    refs: (repository, asked, signal) =>
      view(repository, signal, (call) => readRefPage(git, call, asked)),
    languages: (repository, signal) => view(repository, signal, (call) => readLanguages(git, call)),
    licenseFile: (repository, signal) =>
      view(repository, signal, (call) => readLicenseFile(git, call)),
    directoryOf: async (repository) => (await placeOf(repository)).dir,
    async members(owner) {
      for await (const place of layout.list({ only: { owner, name: '' }, read })) {
        if ('membersOf' in place) return readMembersFile(top, place.membersOf, place.path)
      }
      return undefined
    },
    async facts(repository, known, signal) {
      const place = await placeOf(repository)
      try {
        const facts = await readFacts(git, place, known, signal)
        const rules = await gitolite()
        return rules ? withRights(facts, await rightsIn(rules, place)) : facts
      } catch (error) {
        signal?.throwIfAborted()
        throw asUnreadable(error, place.dir)
      }
    },
    async examine(repository, signal) {
      const placed = await placeToName(repository)
      const { owner, name, dir, wikiDir } = placed
      const fullName = `${owner}/${name}`
      const isThere = (await isDirectory(dirname(dir))) && (await isRepository(dir))
      if (!isThere) throw new Unreadable(`${fullName}: the repository no longer exists`)
      const damage = wikiDir === null && (await wikiRefusal(placed))
      if (damage) throw new Damaged(`${fullName}.wiki`, damage)
      const place = { dir, fullName, wikiDir: wikiDir ?? undefined, sharedLfs }
      const origin = originOf(cloneUrl, owner, name)
      const wikiOrigin = originOf(cloneUrl, owner, `${name}.wiki`)
      return examine({ ...place, origin, wikiOrigin }, git, signal)
    },
    warning: (examination, signal) => warningOfExamination(examination, { git, signal }),
    snapshot: (examination, scratch, signal) => takeSnapshot(examination, scratch, git, signal),
    verify: (snapshot, last, signal) => verify(snapshot, git, signal, last),
    async serveFetch(repository, fetch) {
      const place = await placeToName(repository)
      try {
        return await serveFetch(git, place, fetch)
      } catch (error) {
        fetch.signal.throwIfAborted()
        throw asUnreadable(error, place.dir)
      }
    },
    checkLock: async (repository) => checkPushLocks(git, await placeOf(repository)),
    async hasLock(repository) {
      for (const place of await layout.placesOf(repository))
        if (await hasPushLock(git, place)) return true
      return false
    },
    async settleLock(repository, isWanted) {
      const places = await layout.placesOf(repository)
      if (places.length === 0) throw new Unreadable('the repository no longer exists')
      // Which of several was locked is not known: none is locked anew, and all are opened.
      const isWantedHere = async () => {
        const wanted = await isWanted()
        if (wanted && places.length > 1) throw sameName(places)
        return wanted
      }
      for (const place of places) await settlePushLocks(git, place, isWantedHere)
    },
  }
}

function sameName(places: readonly RepositoryPlace[]): Unreadable {
  const paths = places.map(({ path }) => `${path}.git`).join(', ')
  return new Unreadable(`several repositories have this name: ${paths}`)
}

function originOf(template: string | undefined, owner: string, name: string): string | undefined {
  const filled = template?.replaceAll('{owner}', owner).replaceAll('{name}', name)
  return filled === undefined ? undefined : (publicUrl(filled) ?? undefined)
}
