import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Git } from '../../git/git.ts'
import { publicUrl } from '../../lib/public-url.ts'
import type { ExaminedPlace } from '../snapshot.ts'
import type { RepositoryName, Source } from '../source.ts'
import { Gone, Unreadable } from '../unreadable.ts'
import { rememberingReader } from './directory.ts'
import { readLanguages, readLicenseFile } from './facts/head-tree.ts'
import { readRepositoryFacts } from './facts/repository-facts.ts'
import type { RepositoryCall } from './facts/repository-refs.ts'
import { refuseForeignRefs } from './files/read-refs.ts'
import { Damaged } from './files/repository-errors.ts'
import { refuseSpecialConfig, refuseSpecialFiles } from './files/special-files.ts'
import { orUnreadable } from './files/why-unreadable.ts'
import { directoryOf, directoryToName, existingDirectories, sameName } from './find-directory.ts'
import { gitoliteFor, rightsIn, withRights } from './gitolite/rights.ts'
import { type LayoutOptions, layoutOf } from './layout/layout-of.ts'
import {
  findMembers,
  findRepository,
  listRepositories,
  type ServedTree,
} from './list-repositories.ts'
import { checkPushLocks, hasPushLock, settlePushLocks } from './locks/repository-locks.ts'
import { type Proven, proveRepository } from './prove-repository.ts'
import { isThere, type RepositoryDirectory, wikiRefusal } from './repository-directory.ts'
import { serveFetch } from './serve-fetch.ts'
import { examine } from './snapshot/examine.ts'
import { SharedLfs } from './snapshot/lfs-shared.ts'
import { warningOfExamination } from './snapshot/snapshot-warning.ts'
import { takeSnapshot } from './snapshot/take-snapshot.ts'
import { readRefPage } from './views/ref-page.ts'

export type { LayoutOptions } from './layout/layout-of.ts'
export type { Proven } from './prove-repository.ts'

export interface GitDirectoryOptions {
  /** A directory of bare repositories, their wikis beside them at NAME.wiki.git. */
  root: string
  git: Git
  /** Default OWNER/NAME.git. */
  layout?: LayoutOptions | undefined
  /** Where LFS objects lie that are not in the repositories: `ab/cd/OID`, or `ab/cd/` and the rest of it. */
  lfsDirectory?: string | undefined
  /** Where they can be cloned from, with `{owner}` and `{name}`; without it a snapshot has no origin. */
  cloneUrl?: string | undefined
}

export interface GitDirectory extends Source {
  /** Where a repository is. Rejects with Unreadable. */
  directoryOf(repository: RepositoryName): Promise<string>
  /** Rejects with Unreadable where git refuses to open it: one of another user, where safe.directory does not reach it. */
  tryGit(repository: RepositoryName): Promise<void>
  /**
   * Of a repository out of an archive: every object is there and has the content that its name says. `scratch` is on the same
   * file system. Rejects with Unreadable.
   */
  prove(repository: RepositoryName, scratch: string, signal: AbortSignal): Promise<Proven>
}

export function gitDirectory(options: GitDirectoryOptions): GitDirectory {
  const { git, lfsDirectory, cloneUrl } = options
  const tree = servedTree(options)
  const sharedLfs = lfsDirectory === undefined ? undefined : new SharedLfs(lfsDirectory)
  const examineNow = async (repository: RepositoryName, signal: AbortSignal) =>
    examine(await placeToExamine(await directoryToName(tree, repository), cloneUrl), {
      git,
      sharedLfs,
      signal,
    })

  /** For somebody who waits for it. */
  async function view<T>(
    repository: RepositoryName,
    signal: AbortSignal,
    read: (call: RepositoryCall) => Promise<T>,
  ): Promise<T> {
    const { dir } = await directoryOf(tree, repository)
    return orUnreadable(dir, signal, async () => {
      await refuseForeignRefs({ dir, name: `${repository.owner}/${repository.name}` })
      await refuseSpecialFiles({ dir }, { git, signal })
      return read({ dir, signal, timeoutMs: VIEW_TIMEOUT_MS })
    })
  }

  return {
    list: (spellingOf) => listRepositories(tree, spellingOf),
    find: (owner, name) => findRepository(tree, owner, name),
    members: (owner) => findMembers(tree, owner),
    refs: (repository, asked, signal) =>
      view(repository, signal, (call) => readRefPage(git, call, asked)),
    languages: (repository, signal) => view(repository, signal, (call) => readLanguages(git, call)),
    licenseFile: (repository, signal) =>
      view(repository, signal, (call) => readLicenseFile(git, call)),
    directoryOf: async (repository) => (await directoryOf(tree, repository)).dir,
    async facts(repository, known, signal) {
      const place = await directoryOf(tree, repository)
      return orUnreadable(place.dir, signal, async () => {
        const facts = await readRepositoryFacts(git, place, known, signal)
        const rules = await tree.gitolite()
        return rules ? withRights(facts, await rightsIn(rules, place)) : facts
      })
    },
    async tryGit(repository) {
      const { dir } = await directoryOf(tree, repository)
      await orUnreadable(dir, undefined, async () => {
        const { uid } = await stat(dir)
        if (uid === process.getuid?.()) return
        await refuseSpecialConfig({ dir }, { git })
        await git.run(['rev-parse', '--git-dir'], { dir })
      })
    },
    async prove(repository, scratch, signal) {
      const look = () => examineNow(repository, signal)
      const parts = { git, sharedLfs, signal, scratch, examine: look }
      return proveRepository(await directoryToName(tree, repository), parts)
    },
    examine: examineNow,
    warning: (examination, signal) => warningOfExamination(examination, { git, signal }),
    snapshot: (examination, scratch, signal) =>
      takeSnapshot(examination, scratch, { git, sharedLfs, signal }),
    async serveFetch(repository, fetch) {
      const place = await directoryToName(tree, repository)
      return orUnreadable(place.dir, fetch.signal, () => serveFetch(git, place, fetch))
    },
    checkLock: async (repository) => checkPushLocks(git, await directoryOf(tree, repository)),
    async hasLock(repository) {
      for (const place of await tree.layout.dataPathsOf(repository))
        if (await hasPushLock(git, place)) return true
      return false
    },
    async settleLock(repository, isWanted) {
      const places = await existingDirectories(tree, repository)
      if (places.length === 0) throw new Gone('the repository no longer exists')
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

function servedTree({ root, layout }: GitDirectoryOptions): ServedTree {
  const top = resolve(root)
  return {
    top,
    layout: layoutOf(top, layout ?? { kind: 'owner/name' }),
    gitolite: gitoliteFor(top),
    read: rememberingReader(),
  }
}

const VIEW_TIMEOUT_MS = 20_000

/** Rejects with Unreadable where no repository is there, or what stands in the place of its wiki is none. */
async function placeToExamine(
  place: RepositoryDirectory,
  cloneUrl: string | undefined,
): Promise<ExaminedPlace> {
  const { owner, name, dir, wikiDir } = place
  const fullName = `${owner}/${name}`
  if (!(await isThere(place))) throw new Unreadable(`${fullName}: the repository no longer exists`)
  const damage = wikiDir === null && (await wikiRefusal(place))
  if (damage) throw new Damaged(`${fullName}.wiki`, damage)
  const origin = originOf(cloneUrl, owner, name)
  const wikiOrigin = originOf(cloneUrl, owner, `${name}.wiki`)
  return { dir, fullName, wikiDir: wikiDir ?? undefined, origin, wikiOrigin }
}

function originOf(template: string | undefined, owner: string, name: string): string | undefined {
  const filled = template?.replaceAll('{owner}', owner).replaceAll('{name}', name)
  return filled === undefined ? undefined : (publicUrl(filled) ?? undefined)
}
