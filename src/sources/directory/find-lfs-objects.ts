import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { Git } from '../../git/git.ts'
import { ifExists } from '../../lib/errno.ts'
import type { BareRepository, LfsObject, LfsPointer } from '../snapshot.ts'
import type { LfsRequest } from '../source.ts'
import { readBlobs } from './files/git-records.ts'
import { headsOf, readRefs } from './files/read-refs.ts'
import { hasAlternates, readFormat } from './files/repository-format.ts'
import { readEntries } from './files/sync-fs.ts'
import type { RepositoryDirectory } from './repository-directory.ts'
import { servedRepository } from './serve-fetch.ts'
import { hasLinkedObjects } from './snapshot/examine.ts'
import { findOwnObjects, type SharedLfs } from './snapshot/lfs-objects.ts'

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
