import { dirname, resolve } from 'node:path'
import type { Git } from '../../git/git.ts'
import type { FoundRepository, Listed, RepositoryName, Source, SpellingOf } from '../source.ts'
import { Unreadable } from '../unreadable.ts'
import { rememberingReader } from './directory.ts'
import { publicUrl } from './facts/public-url.ts'
import { readFacts } from './facts/repository-facts.ts'
import type { RepositoryCall } from './facts/repository-refs.ts'
import { stampOf } from './facts/repository-stamp.ts'
import { checkPushLocks, hasPushLock, settlePushLocks } from './locks/repository-locks.ts'
import { readMembersFile } from './members-file.ts'
import {
  isDirectory,
  isRepository,
  placeOf,
  type RepositoryPlace,
  repositoriesIn,
  wikiRefusal,
} from './repository-tree.ts'
import { examine } from './snapshot/examine.ts'
import { SharedLfs } from './snapshot/lfs-shared.ts'
import { takeSnapshot } from './snapshot/snapshot.ts'
import { Damaged } from './snapshot/snapshot-errors.ts'
import { warningOfExamination } from './snapshot/snapshot-warning.ts'
import { verify } from './snapshot/verify-objects.ts'
import { readLanguages, readLicenseFile } from './views/head-views.ts'
import { readRefPage } from './views/ref-page.ts'
import { asUnreadable, reasonOf } from './why-unreadable.ts'

export interface GitDirectoryOptions {
  /** A directory of bare repositories at OWNER/NAME.git, their wikis beside them at OWNER/NAME.wiki.git. */
  root: string
  git: Git
  /** Where LFS objects lie that are not in the repositories: `ab/cd/OID`, or `ab/cd/` and the rest of it. */
  lfsDirectory?: string | undefined
  /** Where they can be cloned from, with `{owner}` and `{name}`; without it a snapshot has no origin. */
  cloneUrl?: string | undefined
}

const VIEW_TIMEOUT_MS = 20_000

export function gitDirectory({ root, git, lfsDirectory, cloneUrl }: GitDirectoryOptions): Source {
  const top = resolve(root)
  const read = rememberingReader()
  const sharedLfs = lfsDirectory === undefined ? undefined : new SharedLfs(lfsDirectory)

  async function* list(spellingOf?: SpellingOf): AsyncGenerator<Listed, void, void> {
    for await (const place of repositoriesIn(top, { ...(spellingOf && { spellingOf }) })) {
      if ('membersOf' in place) yield { members: await readMembersFile(top, place.membersOf) }
      else yield 'refused' in place ? place : await listed(place.repository)
    }
  }

  async function find(owner: string, name: string): Promise<FoundRepository | undefined> {
    for await (const place of repositoriesIn(top, { only: { owner, name }, read })) {
      if (!('repository' in place)) continue
      const row = await listed(place.repository)
      return 'found' in row ? row.found : undefined
    }
    return undefined
  }

  /** For somebody who waits for it. */
  async function view<T>(
    repository: RepositoryName,
    signal: AbortSignal,
    read: (call: RepositoryCall) => Promise<T>,
  ): Promise<T> {
    const { dir } = await placeOf(top, repository)
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
    async members(owner) {
      for await (const place of repositoriesIn(top, { only: { owner, name: '' }, read })) {
        if ('membersOf' in place) return readMembersFile(top, place.membersOf)
      }
      return undefined
    },
    async facts(repository, known, signal) {
      const place = await placeOf(top, repository)
      try {
        return await readFacts(git, place, known, signal)
      } catch (error) {
        signal?.throwIfAborted()
        throw asUnreadable(error, place.dir)
      }
    },
    async examine(repository, signal) {
      const { owner, name, dir, wikiDir } = await placeOf(top, repository)
      const fullName = `${owner}/${name}`
      const isThere = (await isDirectory(dirname(dir))) && (await isRepository(dir))
      if (!isThere) throw new Unreadable(`${fullName}: the repository no longer exists`)
      const damage = wikiDir === null && (await wikiRefusal(top, repository))
      if (damage) throw new Damaged(`${fullName}.wiki`, damage)
      const place = { dir, fullName, wikiDir: wikiDir ?? undefined, sharedLfs }
      const origin = originOf(cloneUrl, owner, name)
      const wikiOrigin = originOf(cloneUrl, owner, `${name}.wiki`)
      return examine({ ...place, origin, wikiOrigin }, git, signal)
    },
    warning: (examination, signal) => warningOfExamination(examination, { git, signal }),
    snapshot: (examination, scratch, signal) => takeSnapshot(examination, scratch, git, signal),
    verify: (snapshot, last, signal) => verify(snapshot, git, signal, last),
    checkLock: async (repository) => checkPushLocks(git, await placeOf(top, repository)),
    hasLock: async (repository) => hasPushLock(git, await placeOf(top, repository)),
    settleLock: async (repository, isWanted) =>
      settlePushLocks(git, await placeOf(top, repository), isWanted),
  }
}

function originOf(template: string | undefined, owner: string, name: string): string | undefined {
  const filled = template?.replaceAll('{owner}', owner).replaceAll('{name}', name)
  return filled === undefined ? undefined : (publicUrl(filled) ?? undefined)
}

async function listed(place: RepositoryPlace): Promise<Listed> {
  const { owner, name, wikiDir } = place
  try {
    return { found: { owner, name, stamp: await stampOf(place), hasWiki: wikiDir !== null } }
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === undefined) throw error
    return { refused: { path: `${owner}/${name}.git`, reason } }
  }
}
