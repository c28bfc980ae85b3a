import { join } from 'node:path'
import { hasCode, ifExists } from '../../../lib/errno.ts'
import type { BareRepository, ObjectFile } from '../../snapshot.ts'
import { ChangedDuringRead, Unsupported } from '../files/repository-errors.ts'
import { lstat, readEntries, statTarget } from '../files/sync-fs.ts'

/**
 * Lists finished packs and loose objects. A repack or gc can move an object meanwhile, but then a pack appears or disappears: the list
 * is complete only where the packs are the same before and after listing the loose objects. Otherwise throws ChangedDuringRead.
 * Bitmaps, reverse indexes, multi-pack-indexes and commit-graphs are left out: git recreates them when needed, and no check here
 * would find a wrong one.
 */
export async function listObjectFiles(repository: BareRepository): Promise<ObjectFile[]> {
  const before = await packFiles(repository)
  const loose = await looseObjects(repository)
  const files = await withSizes(repository, [...loose, ...before])
  const after = await packFiles(repository)
  if (before.join() !== after.join()) throw new ChangedDuringRead('packs changed')
  return files
}

/** Whether objects are behind links: then some may belong to others, and the files hold more than the refs reach. */
export async function hasLinkedObjects(
  { dir }: BareRepository,
  files: readonly ObjectFile[],
): Promise<boolean> {
  if (files.some(({ path, from }) => from !== join(dir, path))) return true
  const objects = join(dir, 'objects')
  if ((await lstat(objects)).isSymbolicLink()) return true
  return (await readEntries(objects)).some((entry) => entry.isSymbolicLink())
}

const HEX_PAIR = /^[0-9a-f]{2}$/

/** The pattern excludes quarantined pushes (`incoming-*`, `tmp_objdir-*`) and unfinished `tmp_*` files. */
async function looseObjects(repository: BareRepository): Promise<string[]> {
  const rest = repository.objectFormat === 'sha256' ? /^[0-9a-f]{62}$/ : /^[0-9a-f]{38}$/
  const paths: string[] = []
  for (const folder of await listNames(repository, 'objects', HEX_PAIR))
    for (const path of await listNames(repository, folder, rest)) paths.push(path)
  return paths
}

/** Git writes a pack's index last and removes it first, so a pack without an index is unfinished or being removed. */
async function packFiles(repository: BareRepository): Promise<string[]> {
  const present = new Set(
    await listNames(repository, 'objects/pack', /^(?!\.|tmp_).*\.(pack|idx|promisor)$/),
  )
  for (const path of present)
    if (path.endsWith('.promisor'))
      throw new Unsupported(
        repository.name,
        'it is a partial clone, which has only some of the objects',
      )
  const packs = [...present].filter((path) => path.endsWith('.pack'))
  return packs.flatMap((pack) => {
    const index = pack.replace(/pack$/, 'idx')
    return present.has(index) ? [pack, index] : []
  })
}

async function listNames(
  repository: BareRepository,
  folder: string,
  pattern: RegExp,
): Promise<string[]> {
  const entries = await ifExists(readEntries(join(repository.dir, folder)), 'ENOENT', 'ENOTDIR')
  const wanted = entries?.filter(({ name }) => pattern.test(name)) ?? []
  return wanted.map(({ name }) => `${folder}/${name}`).sort()
}

async function withSizes(repository: BareRepository, paths: string[]): Promise<ObjectFile[]> {
  const files: ObjectFile[] = []
  for (const path of paths) {
    const file = join(repository.dir, path)
    try {
      // A hard link to a relative symbolic link would lead nowhere from the scratch repository.
      const { path: from, stats } = await statTarget(file)
      if (!stats.isFile()) throw new Unsupported(repository.name, `${path} is not a file`)
      files.push({ path, size: stats.size, from })
    } catch (error) {
      if (hasCode(error, 'ENOENT'))
        throw new ChangedDuringRead(`${path} disappeared`, { cause: error })
      throw error
    }
  }
  return files
}
