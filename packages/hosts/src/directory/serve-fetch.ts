import { hash } from 'node:crypto'
import { statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { readBlobs } from '@godwit/git/files/git-records'
import { headsOf, readRefs, refuseExternalRefs } from '@godwit/git/files/read-refs'
import { type NamedDirectory, readText } from '@godwit/git/files/regular-file'
import { Unsupported } from '@godwit/git/files/repository-errors'
import { hasAlternates, readFormat, refuseExternalPaths } from '@godwit/git/files/repository-format'
import {
  type ConfigReader,
  flag,
  readConfigFile,
  setting,
} from '@godwit/git/files/repository-settings'
import { refuseSpecialFiles } from '@godwit/git/files/special-files'
import { lstatIfExists, readEntries, walkStats } from '@godwit/git/files/sync-fs'
import { type Git, LONG_TIMEOUT_MS, type RunningGit } from '@godwit/git/git'
import type { BareRepository, LfsObject, LfsPointer } from '@godwit/git/snapshot'
import { hasLinkedObjects } from '@godwit/git/snapshot/examine'
import { findOwnObjects, type SharedLfs } from '@godwit/git/snapshot/lfs-objects'
import { Unreadable } from '@godwit/git/unreadable'
import { ifExists } from '@godwit/lib/errno'
import { forEachInTurns } from '@godwit/lib/turns'
import type { FetchRequest, LfsRequest } from '../source.ts'
import { type RepositoryDirectory, repositoryExists } from './repository-directory.ts'

/** Git reads these files whenever it starts. A link could point to any file of this machine. */
const REGULAR_FILES = [
  ...['config', 'config.worktree', 'packed-refs', 'shallow', 'objects/info/alternates'],
  'info/attributes',
]

/** Applies only while git makes no progress, for example because it waits for a dead disk. */
const FIRST_BYTE_TIMEOUT_MS = 30_000

/**
 * Starts `git upload-pack`. It follows the repository's settings for fetches (hidden refs, filters) and runs no program that the
 * repository names: git reads `uploadpack.packObjectsHook` only from the user's config, which is ours. Rejects with Unreadable.
 */
export async function serveFetch(
  git: Git,
  directory: RepositoryDirectory,
  { phase, protocolVersion, isWiki, signal }: FetchRequest,
): Promise<RunningGit> {
  const served = await servedRepository(directory, isWiki, { git, signal })
  const part = phase === 'advertisement' ? ['--advertise-refs'] : []
  return git.start(['upload-pack', '--strict', '--stateless-rpc', ...part, served.dir], {
    protocolVersion,
    signal,
    // Clients may be slow; the server disconnects those that stop reading.
    timeoutMs: LONG_TIMEOUT_MS,
    firstByteTimeoutMs: FIRST_BYTE_TIMEOUT_MS,
    isLowPriority: true,
  })
}

/**
 * Returns the repository or its wiki after checking that git may open it for a client. Rejects with Unreadable for what an export
 * refuses, so that files of other owners are not served under this name.
 */
async function servedRepository(
  directory: RepositoryDirectory,
  isWiki: boolean,
  reader: ConfigReader,
): Promise<NamedDirectory> {
  const { owner, name: repositoryName, wikiDir } = directory
  const name = `${owner}/${repositoryName}${isWiki ? '.wiki' : ''}`
  const dir = isWiki ? wikiDir : directory.dir
  if (!dir || !(await repositoryExists(directory, dir)))
    throw new Unreadable(`${name}: the repository no longer exists`)
  const served = { dir, name }
  await refuseExternalPaths(served)
  await refuseExternalRefs(served)
  for (const path of REGULAR_FILES) {
    const stats = await lstatIfExists(join(dir, path))
    if (stats && !stats.isFile()) throw new Unsupported(name, `${path} is not a regular file`)
  }
  if ((await lstatIfExists(join(dir, 'info')))?.isSymbolicLink())
    throw new Unsupported(name, 'info is a symbolic link')
  await refuseSpecialFiles(served, reader)
  await refuseExternalAttributes(served, reader)
  return served
}

/**
 * If the config says that the repository has a working tree, git reads every `.gitattributes` in it. The working tree is the
 * repository's directory, unless `core.worktree` names another.
 */
async function refuseExternalAttributes({ dir, name }: NamedDirectory, reader: ConfigReader) {
  for (const file of ['config', 'config.worktree']) {
    const text = (await readText({ dir, name }, file)) ?? ''
    // Nearly all repositories return here without a git process. Git reads config.worktree only if the config mentions worktrees.
    if (!/worktree|bare/i.test(text.replace(/^\s*bare = true$/m, ''))) return
    const settings = await readConfigFile(join(dir, file), reader)
    const isBare = flag(settings, 'core.bare')
    if (isBare !== true && setting(settings, 'core.worktree') !== undefined)
      throw new Unsupported(name, 'its config names a working tree (core.worktree)')
    if (isBare !== false) continue
    await forEachInTurns(walkStats(dir), ({ path, stats }) => {
      const isExternal = path.endsWith('/.gitattributes')
        ? !stats.isFile()
        : stats.isSymbolicLink() && statSync(path, { throwIfNoEntry: false })?.isDirectory()
      if (!isExternal) return
      const shown = relative(dir, path)
      throw new Unsupported(name, `it is not bare, and ${shown} is a link or not a file`)
    })
  }
}

/**
 * Returns the objects in the repository's own storage, and those of the shared directory that the repository has a pointer to.
 * Searches with git only if the shared directory has one of the objects. Rejects with Unreadable.
 */
export async function findLfsObjects(
  { git, sharedLfs }: { git: Git; sharedLfs: SharedLfs | undefined },
  directory: RepositoryDirectory,
  { oids, isWiki, signal }: LfsRequest,
): Promise<LfsObject[]> {
  const served = await servedRepository(directory, isWiki, { git, signal })
  const { objectFormat, lfsStorage } = await readFormat(served, { git, signal })
  const wanted = oids.map((oid) => ({ oid }))
  const own = await findOwnObjects(served, lfsStorage, wanted)
  if (!sharedLfs) return own
  const ownOids = new Set(own.map(({ oid }) => oid))
  const others = wanted.filter(({ oid }) => !ownOids.has(oid))
  const shared = await sharedLfs.find(served, lfsStorage, others)
  const repository = { ...served, objectFormat }
  return [...own, ...(await withPointers(repository, shared, { git, sharedLfs, signal }))]
}

/** Returns the objects that the repository has a pointer to, of the same size. */
async function withPointers(
  repository: BareRepository,
  objects: LfsObject[],
  { git, sharedLfs, signal }: { git: Git; sharedLfs: SharedLfs; signal: AbortSignal },
): Promise<LfsObject[]> {
  const usual = await haveUsualPointers(repository, objects, git, signal)
  if (usual.every((has) => has)) return objects
  // This search is slower, but it is cached, and it finds pointers with extensions or of old versions.
  const heads = headsOf(await readRefs(repository))
  const pointers = await sharedLfs.pointersOf(repository, heads, git, signal)
  const found = new Set(pointers.map(({ oid, size }) => `${oid} ${size}`))
  return objects.filter(({ oid, size }, nth) => usual[nth] || found.has(`${oid} ${size}`))
}

/**
 * Returns for each object whether the repository has a pointer as git-lfs writes it, in any commit. Such a pointer has no other
 * content than the oid and the size, so the name of its blob is known, and the history need not be searched. Returns false
 * for all if the repository borrows git objects, because a pointer among them may belong to another owner.
 */
async function haveUsualPointers(
  repository: BareRepository,
  objects: readonly LfsPointer[],
  git: Git,
  signal: AbortSignal,
): Promise<boolean[]> {
  if (objects.length === 0 || (await mayBorrow(repository))) return objects.map(() => false)
  const names = objects.map((object) => pointerBlob(repository, object))
  const blobs = await readBlobs(git, names, { dir: repository.dir, signal })
  return blobs.map((blob) => blob !== undefined)
}

async function mayBorrow(repository: BareRepository): Promise<boolean> {
  if ((await hasAlternates(repository)) || (await hasLinkedObjects(repository, []))) return true
  const packs = await ifExists(readEntries(join(repository.dir, 'objects/pack')), 'ENOENT')
  return packs?.some((entry) => entry.isSymbolicLink()) ?? false
}

function pointerBlob({ objectFormat }: BareRepository, { oid, size }: LfsPointer): string {
  const text = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`
  return hash(objectFormat, `blob ${text.length}\0${text}`)
}
