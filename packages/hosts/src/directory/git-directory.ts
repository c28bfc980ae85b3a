import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { RepositoryCall } from '@godwit/git/files/git-records'
import { refuseExternalRefs } from '@godwit/git/files/read-refs'
import { Damaged, fileErrorReason, orUnreadable } from '@godwit/git/files/repository-errors'
import { refuseSpecialConfig, refuseSpecialFiles } from '@godwit/git/files/special-files'
import { yieldIfDue } from '@godwit/git/files/sync-fs'
import type { Git } from '@godwit/git/git'
import type { RepositoryLocation } from '@godwit/git/snapshot'
import { examine, SNAPSHOT_FORMAT } from '@godwit/git/snapshot/examine'
import { SharedLfs } from '@godwit/git/snapshot/lfs-objects'
import { warningOfExamination } from '@godwit/git/snapshot/snapshot-warning'
import { takeSmallSnapshot, takeSnapshot } from '@godwit/git/snapshot/take-snapshot'
import { RepositoryNotFound, Unreadable } from '@godwit/git/unreadable'
import { publicUrl } from '../public-url.ts'
import type {
  ConfiguredMembers,
  FoundRepository,
  ListedEntry,
  RepositoryName,
  Source,
} from '../source.ts'
import {
  addPermissions,
  type FindGitolite,
  gitoliteFinder,
  ownerRefusal,
} from './gitolite/gitolite.ts'
import { createLayout, type LayoutOptions } from './layout/create-layout.ts'
import { checkPushLocks, hasPushLock, reconcilePushLocks } from './locks/push-lock.ts'
import { readMembersFile } from './members-file.ts'
import { changeTokenOf, exportChangeTokenOf, isCurrent } from './metadata/change-token.ts'
import { readLanguages, readLicenseFile } from './metadata/head-tree.ts'
import { readRepositoryMetadata } from './metadata/repository-metadata.ts'
import { readRefPage } from './ref-page.ts'
import {
  cachingReader,
  existsEvenIfDamaged,
  gitDirectoriesOf,
  isParentReal,
  type RepositoryDirectory,
  readRoot,
  repositoryExists,
  wikiRefusal,
} from './repository-directory.ts'
import { findLfsObjects, serveFetch } from './serve-fetch.ts'

export type { LayoutOptions } from './layout/create-layout.ts'

interface GitDirectoryOptions {
  /** A directory of bare repositories, with their wikis beside them at NAME.wiki.git. */
  root: string
  git: Git
  /** Default OWNER/NAME.git. */
  layout?: LayoutOptions | undefined
  /** A directory of LFS objects outside the repositories, as `ab/cd/OID` or as `ab/cd/` and the rest of the OID. */
  lfsDirectory?: string | undefined
  /** The URL to clone from, with `{owner}` and `{name}`; without it a snapshot has no origin. */
  cloneUrl?: string | undefined
}

export interface GitDirectory extends Source {
  /** Returns the directory of a repository. Rejects with Unreadable. */
  directoryOf(repository: RepositoryName): Promise<string>
  /** Rejects with Unreadable if git refuses to open the repository, such as one of another user (safe.directory). */
  checkGitAccess(repository: RepositoryName): Promise<void>
}

/** How long a user may have to wait for branches, languages or a licence. */
const VIEW_TIMEOUT_MS = 20_000

export function gitDirectory(options: GitDirectoryOptions): GitDirectory {
  const { git, lfsDirectory, cloneUrl } = options
  const tree = openTree(options)
  const sharedLfs = lfsDirectory === undefined ? undefined : new SharedLfs(lfsDirectory)
  const warnings = new Map<string, string | null>()
  const origin = originOf(cloneUrl, '{owner}', '{name}')
  const contextOf = ({ owner, name }: RepositoryName) =>
    JSON.stringify([SNAPSHOT_FORMAT, owner, name, origin])

  async function examineNow(repository: RepositoryName, signal: AbortSignal) {
    const directory = await namedDirectoryOf(tree, repository)
    const location = await locationToExamine(directory, cloneUrl)
    // Before the examination, so that the change token is outdated if the repository changes meanwhile.
    const changeToken = sharedLfs
      ? undefined
      : await exportChangeToken(directory, contextOf(directory))
    return { ...(await examine(location, { git, sharedLfs, signal })), changeToken }
  }

  async function view<T>(
    repository: RepositoryName,
    signal: AbortSignal,
    read: (call: RepositoryCall) => Promise<T>,
  ): Promise<T> {
    const { dir } = await directoryOf(tree, repository)
    return orUnreadable({ dir }, signal, async () => {
      await refuseExternalRefs({ dir, name: `${repository.owner}/${repository.name}` })
      await refuseSpecialFiles({ dir }, { git, signal })
      return read({ dir, signal, timeoutMs: VIEW_TIMEOUT_MS })
    })
  }

  return {
    list: (...options) => listRepositories(tree, ...options),
    find: (owner, name, lastChangeToken) => findRepository(tree, { owner, name }, lastChangeToken),
    members: (owner) => findMembers(tree, owner),
    refs: (repository, wanted, signal) =>
      view(repository, signal, (call) => readRefPage(git, call, wanted)),
    languages: (repository, signal) => view(repository, signal, (call) => readLanguages(git, call)),
    licenseFile: (repository, signal) =>
      view(repository, signal, (call) => readLicenseFile(git, call)),
    directoryOf: async (repository) => (await directoryOf(tree, repository)).dir,
    async metadata(repository, previous, signal) {
      const directory = await directoryOf(tree, repository)
      return orUnreadable({ dir: directory.dir }, signal, async () => {
        const metadata = await readRepositoryMetadata(git, directory, previous, signal)
        const gitolite = await tree.findGitolite()
        return gitolite ? addPermissions(metadata, await gitolite.permissions(directory)) : metadata
      })
    },
    async checkGitAccess(repository) {
      const { dir } = await directoryOf(tree, repository)
      await orUnreadable({ dir }, undefined, async () => {
        const { uid } = await stat(dir)
        if (uid === process.getuid?.()) return
        await refuseSpecialConfig({ dir }, { git })
        await git.run(['rev-parse', '--git-dir'], { dir })
      })
    },
    examine: examineNow,
    async isUnchanged(repository, changeToken) {
      const directory = await namedDirectoryOf(tree, repository)
      return hasExportChangeToken(directory, contextOf(directory), changeToken)
    },
    warning: (examination, signal) => warningOfExamination(examination, { git, signal, warnings }),
    snapshot: (examination, scratch, { signal, mayBeInMemory }) => {
      const take = mayBeInMemory ? takeSmallSnapshot : takeSnapshot
      return take(examination, scratch, { git, sharedLfs, signal })
    },
    async serveFetch(repository, fetch) {
      const directory = await namedDirectoryOf(tree, repository)
      return orUnreadable({ dir: directory.dir }, fetch.signal, () =>
        serveFetch(git, directory, fetch),
      )
    },
    async findLfsObjects(repository, request) {
      const directory = await namedDirectoryOf(tree, repository)
      return orUnreadable({ dir: directory.dir }, request.signal, () =>
        findLfsObjects({ git, sharedLfs }, directory, request),
      )
    },
    checkLock: async (repository) => checkPushLocks(git, await directoryOf(tree, repository)),
    async hasLock(repository) {
      for (const directory of tree.layout.directoriesOf(repository))
        if (await hasPushLock(git, directory)) return true
      return false
    },
    async reconcileLock(repository, isWanted) {
      const directories = await existingDirectories(tree, repository)
      if (directories.length === 0) throw new RepositoryNotFound('the repository no longer exists')
      // It is unknown which of several directories was locked: all are unlocked, and none is locked.
      const isWantedHere = async () => {
        const wanted = await isWanted()
        if (wanted && directories.length > 1) throw ambiguousName(directories)
        return wanted
      }
      for (const directory of directories) await reconcilePushLocks(git, directory, isWantedHere)
    },
  }
}

type RepositoryTree = ReturnType<typeof openTree>

function openTree({ root, layout = { kind: 'owner/name' } }: GitDirectoryOptions) {
  const top = resolve(root)
  return {
    root: top,
    layout: createLayout(top, layout),
    findGitolite: gitoliteFinder(top),
    /** Looks up single repositories, with a cache. */
    read: cachingReader(),
  }
}

async function* listRepositories(
  { root, layout, findGitolite }: RepositoryTree,
  ...[spellingOf, readLastChangeTokens]: Parameters<Source['list']>
): AsyncGenerator<ListedEntry, void, void> {
  const gitolite = await findGitolite({ refresh: true })
  for (const reason of (await gitolite?.warnings()) ?? [])
    yield { refused: { path: '.gitolite', reason } }
  for (const listed of layout.list({
    spellingOf,
    lastChangeTokenOf: await readLastChangeTokens?.(),
  })) {
    const entry = await listed
    await yieldIfDue()
    if (!entry) continue
    if ('membersOf' in entry)
      yield { members: await readMembersFile(root, entry.membersOf, entry.path) }
    else yield 'refused' in entry ? entry : await listedEntry(entry.repository, findGitolite)
  }
}

async function findRepository(
  { layout, findGitolite, read }: RepositoryTree,
  only: RepositoryName,
  lastChangeToken?: string,
): Promise<FoundRepository | undefined> {
  // Rejects if gitolite's permissions cannot be read: returning undefined would mean that the repository is gone.
  await (await findGitolite())?.warnings()
  await yieldIfDue()
  for (const entry of layout.list({ only, read, lastChangeTokenOf: () => lastChangeToken })) {
    if (!entry || !('repository' in entry)) continue
    const listed = await listedEntry(entry.repository, findGitolite)
    return 'found' in listed ? listed.found : undefined
  }
  return undefined
}

async function findMembers(
  { root, layout, read }: RepositoryTree,
  owner: string,
): Promise<ConfiguredMembers | undefined> {
  for (const entry of layout.list({ only: { owner, name: '' }, read }))
    if (entry && 'membersOf' in entry) return readMembersFile(root, entry.membersOf, entry.path)
  return undefined
}

async function listedEntry(
  directory: RepositoryDirectory,
  findGitolite: FindGitolite,
): Promise<ListedEntry> {
  const { owner, name, path, wikiDir } = directory
  const refused = { path: `${path}.git`, hiddenRepositories: { fullName: `${owner}/${name}` } }
  try {
    const hasWiki = wikiDir !== null
    const changeToken = `${directory.changeToken ?? (await changeTokenOf(directory.dir))}${hasWiki ? ' wiki' : ''}`
    const found = { owner, name, changeToken, hasWiki }
    const gitolite = await findGitolite()
    if (!gitolite) return { found }
    const permissions = await gitolite.permissions(directory)
    const reason = ownerRefusal(directory, permissions)
    if (reason !== undefined) return { refused: { ...refused, reason, isWithdrawn: true } }
    return { found: { ...found, changeToken: `${changeToken} ${permissions.changeToken}` } }
  } catch (error) {
    // While its permissions are unknown, nobody may see it.
    if (error instanceof Unreadable)
      return { refused: { ...refused, reason: error.message, isWithdrawn: true } }
    const reason = fileErrorReason(error)
    if (reason === undefined) throw error
    return { refused: { ...refused, reason } }
  }
}

/** Rejects with Unreadable. */
async function directoryOf(
  { layout }: RepositoryTree,
  repository: RepositoryName,
): Promise<RepositoryDirectory> {
  await yieldIfDue()
  const [directory, ...others] = layout.directoriesOf(repository)
  if (!directory) throw new Unreadable('the repository no longer exists')
  if (others.length > 0) throw ambiguousName([directory, ...others])
  return directory
}

/** Rejects with Unreadable; the message begins with the repository's name. */
async function namedDirectoryOf(
  tree: RepositoryTree,
  repository: RepositoryName,
): Promise<RepositoryDirectory> {
  const { owner, name } = repository
  return directoryOf(tree, repository).catch((error: unknown) => {
    if (!(error instanceof Unreadable)) throw error
    throw new Unreadable(`${owner}/${name}: ${error.message}`, { cause: error })
  })
}

/** Returns all existing directories with the name, damaged or not. Rejects with Unreadable if one cannot be read. */
async function existingDirectories(
  { root, layout }: RepositoryTree,
  repository: RepositoryName,
): Promise<RepositoryDirectory[]> {
  const directories: RepositoryDirectory[] = []
  for (const directory of layout.directoriesOf(repository))
    if (await orUnreadable({ dir: directory.dir }, undefined, () => existsEvenIfDamaged(directory)))
      directories.push(directory)
  if (directories.length === 0) readRoot(root)
  return directories
}

function ambiguousName(directories: readonly RepositoryDirectory[]): Unreadable {
  const paths = directories.map(({ path }) => `${path}.git`).join(', ')
  return new Unreadable(`several repositories have this name: ${paths}`)
}

/** Rejects with Unreadable if the repository is gone or the directory of its wiki is not a repository. */
async function locationToExamine(
  directory: RepositoryDirectory,
  cloneUrl: string | undefined,
): Promise<RepositoryLocation> {
  const { owner, name, dir, wikiDir } = directory
  const fullName = `${owner}/${name}`
  if (!(await repositoryExists(directory)))
    throw new Unreadable(`${fullName}: the repository no longer exists`)
  const wikiProblem = wikiDir === null && wikiRefusal(directory)
  if (wikiProblem) throw new Damaged(`${fullName}.wiki`, wikiProblem)
  const origin = originOf(cloneUrl, owner, name)
  const wikiOrigin = originOf(cloneUrl, owner, `${name}.wiki`)
  return { dir, fullName, wikiDir: wikiDir ?? undefined, origin, wikiOrigin }
}

/** Returns a context, which determines an examination besides the files, and a change token of each directory. */
async function exportChangeToken(directory: RepositoryDirectory, context: string) {
  // If a directory cannot be read, the examination reports that.
  const changeTokenIfReadable = (dir: string) => exportChangeTokenOf(dir).catch(() => undefined)
  const changeTokens = await Promise.all(gitDirectoriesOf(directory).map(changeTokenIfReadable))
  return changeTokens.includes(undefined) ? undefined : [context, ...changeTokens].join('\n')
}

function hasExportChangeToken(
  directory: RepositoryDirectory,
  context: string,
  changeToken: string,
): boolean {
  const [lastContext, ...changeTokens] = changeToken.split('\n')
  if (context !== lastContext || !isParentReal(directory)) return false
  if (directory.wikiDir === null && wikiRefusal(directory)) return false
  const directories = gitDirectoriesOf(directory)
  if (directories.length !== changeTokens.length) return false
  return directories.every((dir, at) => isCurrent(dir, changeTokens[at]!))
}

function originOf(template: string | undefined, owner: string, name: string): string | undefined {
  const filled = template?.replaceAll('{owner}', owner).replaceAll('{name}', name)
  return filled === undefined ? undefined : (publicUrl(filled) ?? undefined)
}
