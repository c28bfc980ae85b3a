import { join } from 'node:path'
import { hasCode, ifExists } from '../../../lib/errno.ts'
import type { BareRepository, ObjectFile } from '../../snapshot.ts'
import { ChangedDuringRead, Unsupported } from '../files/repository-errors.ts'
import { entriesIn, lstat, statWithPlace } from '../files/sync-fs.ts'

/**
 * Finished packs and loose objects. An object may move while we look (repack, gc), but then a pack comes or goes: only
 * where the packs are the same after listing the loose objects as before is every object in the list.
 * Bitmaps, reverse indexes, multi-pack-indexes and commit-graphs are left behind: git makes them anew when it wants
 * them, and no check would tell a wrong one.
 */
export async function listObjectFiles(repository: BareRepository): Promise<ObjectFile[]> {
  const before = await packFiles(repository)
  const loose = await looseObjects(repository)
  const files = await withSizes(repository, [...loose, ...before])
  const after = await packFiles(repository)
  if (before.join() !== after.join()) throw new ChangedDuringRead('packs came or went')
  return files
}

/** Then some may be another's, and the files as they are hold more than the refs reach. */
export async function mayBeHiddenByLinks(
  { dir }: BareRepository,
  files: readonly ObjectFile[],
): Promise<boolean> {
  if (files.some(({ path, from }) => from !== join(dir, path))) return true
  const objects = join(dir, 'objects')
  if ((await lstat(objects)).isSymbolicLink()) return true
  return (await entriesIn(objects)).some((entry) => entry.isSymbolicLink())
}

const HEX_PAIR = /^[0-9a-f]{2}$/

/** Quarantined pushes (`incoming-*`, `tmp_objdir-*`) and half-written `tmp_*` files have other names. */
async function looseObjects(repository: BareRepository): Promise<string[]> {
  const rest = repository.objectFormat === 'sha256' ? /^[0-9a-f]{62}$/ : /^[0-9a-f]{38}$/
  const paths: string[] = []
  for (const folder of await named(repository, 'objects', HEX_PAIR))
    for (const path of await named(repository, folder, rest)) paths.push(path)
  return paths
}

/** git writes a pack's index last and removes it first, so a pack without one is not there (yet, or any more). */
async function packFiles(repository: BareRepository): Promise<string[]> {
  const present = new Set(
    await named(repository, 'objects/pack', /^(?!\.|tmp_).*\.(pack|idx|promisor)$/),
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

async function named(
  repository: BareRepository,
  folder: string,
  pattern: RegExp,
): Promise<string[]> {
  const entries = await ifExists(entriesIn(join(repository.dir, folder)), 'ENOENT', 'ENOTDIR')
  const wanted = entries?.filter(({ name }) => pattern.test(name)) ?? []
  return wanted.map(({ name }) => `${folder}/${name}`).sort()
}

async function withSizes(repository: BareRepository, paths: string[]): Promise<ObjectFile[]> {
  const files: ObjectFile[] = []
  for (const path of paths) {
    const here = join(repository.dir, path)
    try {
      // A link to a symbolic link would lead nowhere from the scratch repository.
      const { place: from, stats } = await statWithPlace(here)
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
