import { hash } from 'node:crypto'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { forEachInTurns } from '@godwit/lib/turns'
import type { NamedDirectory } from '../files/regular-file.ts'
import { Unsupported } from '../files/repository-errors.ts'
import { refuseSpecialFiles } from '../files/special-files.ts'
import { lstatIfExists, walkStats } from '../files/sync-fs.ts'
import type { Git } from '../git.ts'
import type { BareRepository, LfsObject, LfsPointer, ObjectFile } from '../snapshot.ts'
import { findPointers } from './lfs-pointers.ts'

/** Returns the path of an LFS object in an archive. It does not depend on where the object was found. */
export const lfsPath = (oid: string) => `lfs/objects/${gitLfsPath(oid).join('/')}`

const DEFAULT_STORAGE = 'lfs'

/**
 * Lists the LFS objects inside the repository, sorted by path. They are in `lfs` and in the directory that `storage` (the setting
 * `lfs.storage`) names. Throws Unsupported for a symbolic link, because its target may belong to another repository.
 */
export async function listLfsObjects(
  directory: NamedDirectory,
  storage: string | undefined,
): Promise<ObjectFile[]> {
  const found = new Map<string, ObjectFile>()
  for (const folder of foldersInside(directory, storage))
    for (const file of await listObjectsIn(directory, folder)) found.set(file.path, file)
  return [...found.keys()].sort().map((path) => found.get(path)!)
}

/** Returns those of the objects that are inside the repository, without those that are reached through a symbolic link. */
export async function findOwnObjects(
  directory: NamedDirectory,
  storage: string | undefined,
  wanted: readonly WantedObject[],
): Promise<LfsObject[]> {
  const folders = foldersInside(directory, storage).map((folder) => folder.split(sep))
  const layouts = folders.map((parts) => (oid: string) => [...parts, ...gitLfsPath(oid)])
  return findObjects(directory.dir, layouts, wanted)
}

const foldersInside = (directory: NamedDirectory, storage: string | undefined): string[] =>
  [...new Set([DEFAULT_STORAGE, ...configuredStorage(directory, storage)])].map((folder) =>
    join(folder, 'objects'),
  )

/**
 * Returns the path of `storage` relative to the repository. Returns nothing if it is outside the repository, where it may contain
 * objects of other repositories.
 */
function configuredStorage({ dir }: NamedDirectory, storage: string | undefined): string[] {
  if (storage === undefined) return []
  const path = relative(dir, resolve(dir, storage))
  return path === '' || isOutside(path) ? [] : [path]
}

const isOutside = (path: string) => path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path)

/** Matches `aa`, `aa/bb` and `aa/bb/aabb…`, of which only the last has an oid. */
const OBJECT_PATH = /^([0-9a-f]{2})(?:\/([0-9a-f]{2})(?:\/(\1\2[0-9a-f]{60}))?)?$/

/** Lists the files `aa/bb/aabb…` in the folder. */
async function listObjectsIn({ dir, name }: NamedDirectory, folder: string): Promise<ObjectFile[]> {
  const refuseLink = (path: string) => {
    throw new Unsupported(name, `${path} is a symbolic link`)
  }
  const parts = folder.split(sep)
  for (let depth = 1; depth <= parts.length; depth++) {
    const path = parts.slice(0, depth).join(sep)
    const stats = await lstatIfExists(join(dir, path))
    // Most repositories have no LFS objects, and an exception for a missing folder costs more than this call.
    if (!stats) return []
    if (stats.isSymbolicLink()) refuseLink(path)
  }
  const files: ObjectFile[] = []
  await forEachInTurns(walkStats(`${dir}/${folder}`), ({ path: from, stats }) => {
    const path = from.slice(dir.length + 1)
    const match = OBJECT_PATH.exec(path.slice(folder.length + 1))
    if (!match) return
    if (stats.isSymbolicLink()) refuseLink(path)
    const oid = match[3]
    if (oid === undefined) return
    if (!stats.isFile()) throw new Unsupported(name, `${path} is not a regular file`)
    files.push({ path: lfsPath(oid), size: Number(stats.size), from })
  })
  return files
}

const MAX_CACHED_REPOSITORIES = 1000

/**
 * A directory of LFS objects that all repositories of a host share. It does not record which repository an object belongs to, so a
 * repository gets only the objects that LFS pointers in its branches and tags refer to.
 */
export class SharedLfs {
  readonly #directory: string
  /** Caches the pointers by directory and heads, so that an unchanged repository needs no git processes. */
  readonly #pointers = new Map<string, LfsPointer[]>()

  constructor(directory: string) {
    this.#directory = resolve(directory)
  }

  /** Returns the LFS pointers in the trees of `heads`, the commits and tags that the refs point to. */
  async pointersOf(
    repository: BareRepository,
    heads: readonly string[],
    git: Git,
    signal: AbortSignal,
  ): Promise<LfsPointer[]> {
    const { dir } = repository
    const key = hash('sha256', [dir, ...heads].join(' '))
    const cached = this.#pointers.get(key)
    if (cached) return cached
    await refuseSpecialFiles(repository, { git, signal })
    const pointers = await findPointers(git, dir, heads, signal)
    if (this.#pointers.size >= MAX_CACHED_REPOSITORIES) this.#pointers.clear()
    this.#pointers.set(key, pointers)
    return pointers
  }

  /**
   * Returns the objects that the shared directory has, whichever repository they belong to. `storage` is the repository's
   * `lfs.storage`; it is searched too if it is inside the shared directory.
   */
  find(
    { dir }: NamedDirectory,
    storage: string | undefined,
    wanted: readonly WantedObject[],
  ): Promise<LfsObject[]> {
    const layouts = [gitLfsPath, giteaPath]
    const subfolder =
      storage === undefined ? '..' : relative(this.#directory, resolve(dir, storage))
    const parts = subfolder.split(sep).filter((part) => part !== '')
    if (!isOutside(subfolder)) layouts.push((oid) => [...parts, 'objects', ...gitLfsPath(oid)])
    return findObjects(this.#directory, layouts, wanted)
  }
}

/** Without a size, an object of any size is found. */
type WantedObject = Pick<LfsPointer, 'oid'> & Partial<LfsPointer>
type ObjectPath = (oid: string) => string[]

async function findObjects(
  top: string,
  layouts: readonly ObjectPath[],
  wanted: readonly WantedObject[],
): Promise<LfsObject[]> {
  const files: LfsObject[] = []
  for (const { oid, size } of wanted)
    for (const layout of layouts) {
      const file = await findFile(top, layout(oid))
      if (!file || (size !== undefined && file.size !== size)) continue
      files.push({ oid, ...file })
      break
    }
  return files
}

/** Returns undefined if there is no regular file, or if it is reached through a symbolic link. */
async function findFile(top: string, parts: readonly string[]) {
  let from = top
  for (const [depth, part] of parts.entries()) {
    from = join(from, part)
    const stats = await lstatIfExists(from)
    if (depth === parts.length - 1) return stats?.isFile() ? { from, size: stats.size } : undefined
    if (!stats?.isDirectory()) return undefined
  }
  return undefined
}

const gitLfsPath: ObjectPath = (oid) => [oid.slice(0, 2), oid.slice(2, 4), oid]
const giteaPath: ObjectPath = (oid) => [oid.slice(0, 2), oid.slice(2, 4), oid.slice(4)]
