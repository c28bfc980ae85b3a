import { codeOf } from '../../../lib/errno.ts'
import type { ExaminedRepository } from '../../snapshot.ts'
import { ObjectFiles, parseCommit, parseTag, parseTree } from '../files/read-objects.ts'
import { tipsOf } from '../files/read-refs.ts'
import { memoryFile, readRegularFile } from '../files/regular-file.ts'
import { NeedsGit } from '../files/repository-errors.ts'
import { findNewest } from './newest-commit.ts'

/** A repository of this size takes about 1 ms of CPU time; a copy on disk and git take 10 ms. */
const MAX_BYTES = 100_000
const MAX_FILES = 100

interface SmallRepository {
  /** The object files by path. */
  contents: ReadonlyMap<string, Buffer>
  /** The time of the newest commit, as `newestCommit` returns it. */
  newest: string | undefined
}

/**
 * Reads the object files of a small repository into memory, and checks that every object that its refs reach is present. Returns
 * undefined if the repository is larger, or if anything is unusual, missing or damaged: then git decides, and explains what is wrong.
 */
export async function readSmallRepository(
  found: ExaminedRepository,
): Promise<SmallRepository | undefined> {
  const { objectFiles, objectFormat } = found
  const size = objectFiles.reduce((sum, file) => sum + file.size, 0)
  const isOrdinary = !found.hasExternalObjects && found.lfsObjects.length === 0
  if (size > MAX_BYTES || objectFiles.length > MAX_FILES || !isOrdinary) return undefined
  try {
    const contents = new Map<string, Buffer>()
    for (const file of objectFiles)
      contents.set(file.path, await readRegularFile(file.from, file.size))
    using objects = new ObjectFiles(
      {
        listIndexes: async () => [...contents.keys()].filter((path) => path.endsWith('.idx')),
        open: (path) => memoryFile(contents.get(path) ?? missing(path)),
      },
      objectFormat,
    )
    await requireConnected(objects, found)
    return { contents, newest: await findNewest(objects, tipsOf(found)) }
  } catch (error) {
    if (error instanceof NeedsGit || codeOf(error) !== undefined) return undefined
    throw error
  }
}

function missing(path: string): never {
  throw new NeedsGit(`${path} is missing`)
}

/**
 * Throws NeedsGit unless every object that the refs reach is present. Commits, trees and tags must also match their names and have the
 * expected types; the bytes of files are checked when they are written.
 */
async function requireConnected(objects: ObjectFiles, found: ExaminedRepository): Promise<void> {
  const types = new Map<string, string>()
  for (let wanted = tipsOf(found); wanted.length > 0; ) {
    const next: string[] = []
    const expect = (oid: string, type: string) => {
      const known = types.get(oid)
      if (known !== undefined && known !== type) throw new NeedsGit('an object of two types')
      if (known === undefined && type !== 'blob') next.push(oid)
      types.set(oid, type)
    }
    for (const [at, object] of (await objects.read(wanted)).entries()) {
      const oid = wanted[at]!
      if ((types.get(oid) ?? object.type) !== object.type) throw new NeedsGit('another type')
      types.set(oid, object.type)
      if (object.type === 'commit') {
        const { tree, parents } = parseCommit(object)
        expect(tree, 'tree')
        for (const parent of parents) expect(parent, 'commit')
      } else if (object.type === 'tag') {
        const tag = parseTag(object)
        expect(tag.object, tag.type)
      } else if (object.type === 'tree') {
        for (const entry of parseTree(object, found.objectFormat))
          if (entry.kind !== 'submodule') expect(entry.oid, entry.kind === 'tree' ? 'tree' : 'blob')
      }
    }
    wanted = next
  }
  await objects.requireAll([...types.keys()].filter((oid) => types.get(oid) === 'blob'))
}
