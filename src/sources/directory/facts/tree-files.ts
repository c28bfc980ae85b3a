import { NeedsGit, type ObjectReader } from '../files/object-reader.ts'
import { parseTree, type TreeEntry } from '../files/parse-objects.ts'
import type { TreeFile } from './head-tree.ts'

/** More than these are for git to list, whose memory does not grow with them. */
const MAX_TREES = 5000
const MAX_FILES = 50_000

/** The files of a tree and of all below it, in the order in which git lists them, with their sizes. */
export async function filesOfTree(
  objects: ObjectReader,
  root: string,
  oidBytes: number,
): Promise<TreeFile[]> {
  const trees = await readTrees(objects, root, oidBytes)
  const files: Omit<TreeFile, 'size'>[] = []
  let visited = 0

  /** A tree that stands in many places is read once and listed in each. */
  function list(tree: string, path: string): void {
    if (++visited > MAX_FILES) throw new NeedsGit('very many directories')
    for (const { kind, oid, name } of trees.get(tree)!) {
      if (kind === 'tree') list(oid, `${path}${name}/`)
      else if (kind === 'file') files.push({ oid, path: path + name })
      if (files.length > MAX_FILES) throw new NeedsGit('very many files')
    }
  }
  list(root, '')
  return withSizes(objects, files)
}

async function readTrees(
  objects: ObjectReader,
  root: string,
  oidBytes: number,
): Promise<Map<string, TreeEntry[]>> {
  const trees = new Map<string, TreeEntry[]>()
  for (let next = new Set([root]); next.size > 0; ) {
    if (trees.size + next.size > MAX_TREES) throw new NeedsGit('very many directories')
    const oids = [...next]
    next = new Set()
    for (const [index, object] of (await objects.read(oids)).entries()) {
      if (!object) throw new NeedsGit('a missing tree')
      trees.set(oids[index]!, parseTree(object, oidBytes))
    }
    for (const oid of oids)
      for (const entry of trees.get(oid)!)
        if (entry.kind === 'tree' && !trees.has(entry.oid)) next.add(entry.oid)
  }
  return trees
}

async function withSizes(
  objects: ObjectReader,
  files: readonly Omit<TreeFile, 'size'>[],
): Promise<TreeFile[]> {
  const oids = [...new Set(files.map(({ oid }) => oid))]
  const found = oids.length === 0 ? [] : await objects.sizes(oids)
  const sizes = new Map(oids.map((oid, index) => [oid, found[index]]))
  return files.flatMap((file) => {
    const size = sizes.get(file.oid)
    // What is missing has no size, and then git does not say one either.
    return size === undefined ? [] : [{ ...file, size }]
  })
}
