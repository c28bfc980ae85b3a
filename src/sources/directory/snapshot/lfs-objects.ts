import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Git } from '../../../git/git.ts'
import { ifExists } from '../../../lib/errno.ts'
import type { BareRepository, LfsPointer, ObjectFile } from '../../snapshot.ts'
import type { NamedDirectory } from '../files/regular-file.ts'
import { ChangedDuringRead, Unsupported } from '../files/repository-errors.ts'
import { refuseSpecialFiles } from '../files/special-files.ts'
import { lstatIfExists, readEntries } from '../files/sync-fs.ts'
import { findPointers } from './lfs-pointers.ts'

/** The path of an LFS object in an archive, wherever the object was found. */
export const lfsPath = (oid: string) => `lfs/objects/${gitLfsPath(oid).join('/')}`

const OWN_STORAGE = 'lfs'
const HEX_PAIR = /^[0-9a-f]{2}$/
const FULL_OID = /^[0-9a-f]{64}$/

/**
 * Lists all objects in the repository's own storage, `lfs` or the directory that `lfs.storage` names, in the order of their paths.
 * Throws Unsupported for a link: what is behind it may belong to others.
 */
export async function listLfsObjects(
  at: NamedDirectory,
  storage: string | undefined,
): Promise<ObjectFile[]> {
  const found = new Map<string, ObjectFile>()
  for (const folder of new Set([OWN_STORAGE, ...ownStorage(at, storage)]))
    for (const file of await listObjectsIn(at, `${folder}/objects`)) found.set(file.path, file)
  return [...found.keys()].sort().map((path) => found.get(path)!)
}

/** Returns `storage` relative to the repository. Outside the repository it may hold the objects of others. */
function ownStorage({ dir }: NamedDirectory, storage: string | undefined): string[] {
  if (storage === undefined) return []
  const inside = relative(dir, resolve(dir, storage))
  return inside === '' || isOutside(inside) ? [] : [inside]
}

const isOutside = (path: string) => path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path)

/** Lists the files `aa/bb/aabb…` below the folder. */
async function listObjectsIn(at: NamedDirectory, folder: string): Promise<ObjectFile[]> {
  const parts = folder.split(sep)
  for (let depth = 1; depth <= parts.length; depth++) {
    const path = parts.slice(0, depth).join(sep)
    if ((await lstatIfExists(join(at.dir, path)))?.isSymbolicLink()) refuseLink(at, path)
  }
  const files: ObjectFile[] = []
  for (const first of await listNames(at, folder, HEX_PAIR))
    for (const second of await listNames(at, `${folder}/${first}`, HEX_PAIR)) {
      const inside = `${folder}/${first}/${second}`
      for (const oid of await listNames(at, inside, FULL_OID))
        if (oid.startsWith(`${first}${second}`))
          files.push(await objectFile(at, `${inside}/${oid}`, oid))
    }
  return files
}

async function listNames(at: NamedDirectory, folder: string, pattern: RegExp): Promise<string[]> {
  const entries = await ifExists(readEntries(join(at.dir, folder)), 'ENOENT', 'ENOTDIR')
  const wanted = (entries ?? []).filter(({ name }) => pattern.test(name))
  for (const entry of wanted) if (entry.isSymbolicLink()) refuseLink(at, `${folder}/${entry.name}`)
  return wanted.map(({ name }) => name).sort()
}

async function objectFile(at: NamedDirectory, path: string, oid: string): Promise<ObjectFile> {
  const from = join(at.dir, path)
  const stats = await lstatIfExists(from)
  if (!stats) throw new ChangedDuringRead(`${path} disappeared`)
  if (stats.isSymbolicLink()) refuseLink(at, path)
  if (!stats.isFile()) throw new Unsupported(at.name, `${path} is not a file`)
  return { path: lfsPath(oid), size: stats.size, from }
}

function refuseLink({ name }: NamedDirectory, path: string): never {
  throw new Unsupported(name, `${path} is a symbolic link`)
}

const MAX_CACHED = 1000

/**
 * A directory of LFS objects that all repositories of a host share. It does not say which repository an object belongs to, so a
 * repository gets only the objects that the pointers in its branches and tags name.
 */
export class SharedLfs {
  readonly #directory: string
  /** The pointers by directory and heads: finding those of an unchanged repository again would take two git processes. */
  readonly #pointers = new Map<string, LfsPointer[]>()

  constructor(directory: string) {
    this.#directory = resolve(directory)
  }

  async pointersOf(
    repository: BareRepository,
    heads: readonly string[],
    git: Git,
    signal: AbortSignal,
  ): Promise<LfsPointer[]> {
    const { dir } = repository
    const key = [dir, ...heads].join(' ')
    const cached = this.#pointers.get(key)
    if (cached) return cached
    await refuseSpecialFiles(repository, { git, signal })
    const pointers = await findPointers(git, dir, heads, signal)
    if (this.#pointers.size >= MAX_CACHED) this.#pointers.clear()
    this.#pointers.set(key, pointers)
    return pointers
  }

  /** `storage` is the repository's `lfs.storage`; it counts where it is inside the shared directory. */
  async objectsOf(
    { dir }: BareRepository,
    storage: string | undefined,
    pointers: readonly LfsPointer[],
  ): Promise<ObjectFile[]> {
    const layouts = [gitLfsPath, giteaPath]
    const own = storage === undefined ? '..' : relative(this.#directory, resolve(dir, storage))
    const ownParts = own.split(sep).filter((part) => part !== '')
    if (!isOutside(own)) layouts.push((oid) => [...ownParts, 'objects', ...gitLfsPath(oid)])
    const files: ObjectFile[] = []
    for (const { oid, size } of pointers)
      for (const layout of layouts) {
        const from = await this.#findFile(layout(oid), size)
        if (from === undefined) continue
        files.push({ path: lfsPath(oid), size, from })
        break
      }
    return files
  }

  /** Follows no links. A file of another size than the pointer's is not its object. */
  async #findFile(parts: readonly string[], size: number): Promise<string | undefined> {
    let path = this.#directory
    for (const [depth, part] of parts.entries()) {
      path = join(path, part)
      const stats = await lstatIfExists(path)
      const isLast = depth === parts.length - 1
      if (isLast ? !stats?.isFile() || stats.size !== size : !stats?.isDirectory()) return undefined
    }
    return path
  }
}

const gitLfsPath = (oid: string) => [oid.slice(0, 2), oid.slice(2, 4), oid]
const giteaPath = (oid: string) => [oid.slice(0, 2), oid.slice(2, 4), oid.slice(4)]
