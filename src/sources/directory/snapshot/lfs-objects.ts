import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { ifExists } from '../../../lib/errno.ts'
import type { ObjectFile } from '../../snapshot.ts'
import { ChangedDuringRead, Unsupported } from '../files/repository-errors.ts'
import { entriesIn, lstat } from '../files/sync-fs.ts'

interface At {
  dir: string
  name: string
}

/** In an archive, wherever it was found. */
export const lfsPath = (oid: string) => `lfs/objects/${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`

/** As codes of the system. */
export const NOT_THERE = ['ENOENT', 'ENOTDIR'] as const

const OWN_STORAGE = 'lfs'
const HEX_PAIR = /^[0-9a-f]{2}$/
const FULL_OID = /^[0-9a-f]{64}$/

/**
 * All objects in the repository's own storage, `lfs` or what `lfs.storage` says, in the order of their paths. What is
 * behind a link may be another's, and nothing tells which of these a repository may have.
 */
export async function listLfsObjects(at: At, storage: string | undefined): Promise<ObjectFile[]> {
  const found = new Map<string, ObjectFile>()
  for (const folder of new Set([OWN_STORAGE, ...ownStorage(at, storage)]))
    for (const file of await objectsIn(at, `${folder}/objects`)) found.set(file.path, file)
  return [...found.keys()].sort().map((path) => found.get(path)!)
}

/** Relative to the repository; elsewhere it may hold the objects of others. */
function ownStorage({ dir }: At, storage: string | undefined): string[] {
  if (storage === undefined) return []
  const inside = relative(dir, resolve(dir, storage))
  return inside === '' || isOutside(inside) ? [] : [inside]
}

export const isOutside = (path: string) =>
  path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path)

/** `aa/bb/aabb…` below the folder. */
async function objectsIn(at: At, folder: string): Promise<ObjectFile[]> {
  const steps = folder.split(sep)
  for (let depth = 1; depth <= steps.length; depth++) {
    const path = steps.slice(0, depth).join(sep)
    if ((await ifExists(lstat(join(at.dir, path)), ...NOT_THERE))?.isSymbolicLink())
      refuseLink(at, path)
  }
  const files: ObjectFile[] = []
  for (const first of await named(at, folder, HEX_PAIR))
    for (const second of await named(at, `${folder}/${first}`, HEX_PAIR)) {
      const inside = `${folder}/${first}/${second}`
      for (const oid of await named(at, inside, FULL_OID))
        if (oid.startsWith(`${first}${second}`))
          files.push(await fileAt(at, `${inside}/${oid}`, oid))
    }
  return files
}

async function named(at: At, folder: string, pattern: RegExp): Promise<string[]> {
  const entries = (await ifExists(entriesIn(join(at.dir, folder)), ...NOT_THERE)) ?? []
  const wanted = entries.filter(({ name }) => pattern.test(name))
  for (const entry of wanted) if (entry.isSymbolicLink()) refuseLink(at, `${folder}/${entry.name}`)
  return wanted.map(({ name }) => name).sort()
}

async function fileAt(at: At, path: string, oid: string): Promise<ObjectFile> {
  const from = join(at.dir, path)
  const stats = await ifExists(lstat(from), ...NOT_THERE)
  if (!stats) throw new ChangedDuringRead(`${path} disappeared`)
  if (stats.isSymbolicLink()) refuseLink(at, path)
  if (!stats.isFile()) throw new Unsupported(at.name, `${path} is not a file`)
  return { path: lfsPath(oid), size: stats.size, from }
}

function refuseLink({ name }: At, path: string): never {
  throw new Unsupported(name, `${path} is a symbolic link`)
}
