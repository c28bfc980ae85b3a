import { join } from 'node:path'
import type { RepositoryCall } from '@godwit/git/files/git-records'
import type { GitObject } from '@godwit/git/files/pack-file'
import {
  type ObjectFiles,
  openObjectFiles,
  parseCommit,
  parseTag,
  parseTree,
  type TreeEntry,
} from '@godwit/git/files/read-objects'
import { readRefs, tipsOf } from '@godwit/git/files/read-refs'
import { NeedsGit } from '@godwit/git/files/repository-errors'
import type { Settings } from '@godwit/git/files/repository-settings'
import { lstatIfExists } from '@godwit/git/files/sync-fs'
import type { Git } from '@godwit/git/git'
import { decodeUtf8, resolvedRefs } from '@godwit/git/refs'
import type { ObjectFormat } from '@godwit/git/snapshot'
import { Unreadable } from '@godwit/git/unreadable'
import { codeOf } from '@godwit/lib/errno'
import { metadataOfTree, type TreeFile } from './head-tree.ts'
import {
  earlier,
  type GitMetadata,
  type Head,
  readOldestRoot,
  summarizeRefs,
  toMilliseconds,
  type WantedMetadata,
} from './metadata-from-git.ts'

/** Beyond these limits git reads the repository, so that the memory of this process stays bounded. */
const MAX_TIPS = 10_000
const MAX_PACKED_REFS_BYTES = 1024 * 1024
const MAX_TREES = 5000
const MAX_FILES = 50_000
/** Git walks a longer history faster. */
const MAX_COMMITS = 1000

/**
 * Reads the same metadata as `readMetadataWithGit` from the repository's files, without git except for a long history. Returns undefined
 * if anything is unusual or damaged: then the caller runs git. `openObjectFiles` compares the cost of both ways.
 */
export async function readMetadataFromFiles(
  git: Git,
  call: RepositoryCall,
  settings: Settings,
  wanted: WantedMetadata,
): Promise<GitMetadata | undefined> {
  call.signal?.throwIfAborted()
  try {
    return await readMetadata(git, call, settings, wanted)
  } catch (error) {
    call.signal?.throwIfAborted()
    if (error instanceof NeedsGit || error instanceof Unreadable || codeOf(error)) return undefined
    throw error
  }
}

async function readMetadata(
  git: Git,
  call: RepositoryCall,
  settings: Settings,
  wanted: WantedMetadata,
): Promise<GitMetadata> {
  const { dir } = call
  await requirePlainFiles(dir, settings)
  const isSha256 = settings.get('extensions.objectformat')?.at(-1) === 'sha256'
  const objectFormat = isSha256 ? 'sha256' : 'sha1'
  const found = await readRefs({ dir, name: '', objectFormat })
  const named = resolvedRefs(found.refs).map(({ ref, oid }) => ({ ref: decodeUtf8(ref.name), oid }))
  const head: Head =
    'oid' in found.head ? { commit: found.head.oid } : { ref: decodeUtf8(found.head.target) }
  const tips = tipsOf(found)
  if (tips.length === 0) return { refs: await summarizeRefs(head, []), oldest: null, tree: null }
  if (tips.length > MAX_TIPS) throw new NeedsGit('very many refs')

  using objects = await openObjectFiles(dir, objectFormat)
  const read = await readByName(objects, tips)
  const dated = named.map(({ ref, oid }) => ({ ref, oid, time: timeOf(read.get(oid)!) }))
  const refMetadata = await summarizeRefs(head, dated)
  const commit = refMetadata.headCommit
  const headCommit =
    commit !== null && wanted.isTreeWanted(commit) ? parseCommit(read.get(commit)!) : undefined
  let oldest: number | null | undefined = null
  if (wanted.oldestCommit) {
    oldest = await findOldestRoot(objects, [...read.values()])
    if (oldest === undefined) oldest = await readOldestRoot(git, call)
  }
  if (!headCommit) return { refs: refMetadata, oldest, tree: null }
  const files = await listFiles(objects, headCommit.tree, objectFormat)
  const readBlobs = async (oids: string[]) => (await objects.read(oids)).map(({ bytes }) => bytes)
  return { refs: refMetadata, oldest, tree: await metadataOfTree(files, readBlobs) }
}

/** Throws NeedsGit if git would read refs or history from other files, or refuse to read them. */
async function requirePlainFiles(dir: string, settings: Settings): Promise<void> {
  for (const [key, values] of settings) {
    if (key.startsWith('extensions.') && key !== 'extensions.objectformat') throw new NeedsGit(key)
    if (key === 'core.repositoryformatversion' && !/^[01]$/.test(values.at(-1) ?? ''))
      throw new NeedsGit(key)
  }
  if (await lstatIfExists(join(dir, 'shallow'))) throw new NeedsGit('a shallow clone')
  const packedRefs = await lstatIfExists(join(dir, 'packed-refs'))
  if (packedRefs && packedRefs.size > MAX_PACKED_REFS_BYTES) throw new NeedsGit('very many refs')
}

async function readByName(
  objects: ObjectFiles,
  oids: readonly string[],
): Promise<Map<string, GitObject>> {
  const read = await objects.read(oids)
  return new Map(read.map((object, index) => [oids[index]!, object]))
}

/** Only commits and tags have a time. */
function timeOf(object: GitObject): number | null {
  if (object.type === 'commit') return toMilliseconds(parseCommit(object).committed)
  return object.type === 'tag' ? toMilliseconds(parseTag(object).tagged) : null
}

/** Returns the time of the oldest commit without parents; undefined if the history is long. */
async function findOldestRoot(
  objects: ObjectFiles,
  tips: readonly GitObject[],
): Promise<number | null | undefined> {
  let oldest: number | null = null
  const seen = new Set<string>()
  let reached = tips
  while (reached.length > 0) {
    const next = new Set<string>()
    for (const object of reached) {
      const parents = parentsOf(object)
      for (const oid of parents) if (!seen.has(oid)) next.add(oid)
      if (object.type === 'commit' && parents.length === 0) oldest = earlier(oldest, timeOf(object))
    }
    for (const oid of next) seen.add(oid)
    if (seen.size > MAX_COMMITS) return undefined
    reached = await objects.read([...next])
  }
  return oldest
}

/** Returns the parents of a commit, or the commit or tag that a tag names. */
function parentsOf(object: GitObject): string[] {
  if (object.type === 'commit') return parseCommit(object).parents
  if (object.type !== 'tag') return []
  const { object: oid, type } = parseTag(object)
  return type === 'commit' || type === 'tag' ? [oid] : []
}

/** Lists the files of a tree and of all trees below it, with their sizes, in the order in which git lists them. */
async function listFiles(
  objects: ObjectFiles,
  root: string,
  format: ObjectFormat,
): Promise<TreeFile[]> {
  const trees = await readTrees(objects, root, format)
  const files: Omit<TreeFile, 'size'>[] = []
  let visited = 0

  /** A tree that is in several directories is read once and listed for each of them. */
  function addFiles(tree: string, path: string): void {
    if (++visited > MAX_FILES) throw new NeedsGit('very many directories')
    for (const { kind, oid, name } of trees.get(tree)!) {
      if (kind === 'tree') addFiles(oid, `${path}${name}/`)
      else if (kind === 'file') files.push({ oid, path: path + name })
      if (files.length > MAX_FILES) throw new NeedsGit('very many files')
    }
  }
  addFiles(root, '')
  const oids = [...new Set(files.map(({ oid }) => oid))]
  const found = await objects.sizes(oids)
  const sizes = new Map(oids.map((oid, index) => [oid, found[index]!]))
  return files.map((file) => ({ ...file, size: sizes.get(file.oid)! }))
}

async function readTrees(
  objects: ObjectFiles,
  root: string,
  format: ObjectFormat,
): Promise<Map<string, TreeEntry[]>> {
  const trees = new Map<string, TreeEntry[]>()
  for (let next = new Set([root]); next.size > 0; ) {
    if (trees.size + next.size > MAX_TREES) throw new NeedsGit('very many directories')
    const read = await readByName(objects, [...next])
    next = new Set()
    for (const [oid, object] of read) trees.set(oid, parseTree(object, format))
    for (const oid of read.keys())
      for (const entry of trees.get(oid)!)
        if (entry.kind === 'tree' && !trees.has(entry.oid)) next.add(entry.oid)
  }
  return trees
}
