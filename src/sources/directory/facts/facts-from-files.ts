import { join } from 'node:path'
import type { Git } from '../../../git/git.ts'
import { GitFailed } from '../../../git/git-end.ts'
import { codeOf } from '../../../lib/errno.ts'
import { readable, resolvedRefs } from '../../refs.ts'
import { Unreadable } from '../../unreadable.ts'
import {
  NeedsGit,
  type ObjectReader,
  openObjects,
  type WholeObject,
} from '../files/object-reader.ts'
import { type CommitObject, parseCommit, parseTag } from '../files/parse-objects.ts'
import { openPlainObjects } from '../files/plain-objects.ts'
import { readRefs } from '../files/read-refs.ts'
import type { Settings } from '../files/repository-settings.ts'
import { lstat } from '../files/sync-fs.ts'
import type { GitFacts, Wanted } from './facts-from-git.ts'
import { factsOfTree, type TreeFacts } from './head-tree.ts'
import {
  earlier,
  type Head,
  moment,
  oldestRoot,
  type RepositoryCall,
  sumUp,
} from './repository-refs.ts'
import { filesOfTree } from './tree-files.ts'

/** More than these are for git to list, whose memory does not grow with them. */
const MAX_TIPS = 10_000
const LARGEST_PACKED_REFS = 1024 * 1024
/** A longer history is walked faster by a git of its own. */
const MAX_COMMITS = 1000
/** How the objects of a repository are read. */
type OpenObjects = () => Promise<ObjectReader>

interface BeforeGit {
  /** To be waited for before git is started in the repository; rejects where it must not be. */
  beforeGit(): Promise<void>
}

/**
 * The same as by commands, from the repository's files or, where those are not as usual, with one git process: to start one
 * costs more than all that a small repository asks of it. Undefined where anything is out of the ordinary.
 */
export async function readFactsFromFiles(
  git: Git,
  call: RepositoryCall,
  settings: Settings,
  wanted: Wanted & BeforeGit,
): Promise<GitFacts | undefined> {
  const format = isSha256(settings) ? 'sha256' : 'sha1'
  const ways: OpenObjects[] = [
    () => openPlainObjects(call.dir, format),
    async () => {
      await wanted.beforeGit()
      return openObjects(git, call)
    },
  ]
  for (const open of ways) {
    // Who reads files by themselves is stopped by nobody else.
    call.signal?.throwIfAborted()
    try {
      return await look(git, call, settings, wanted, open)
    } catch (error) {
      call.signal?.throwIfAborted()
      if (!isOdd(error)) throw error
    }
  }
  return undefined
}

function isOdd(error: unknown): boolean {
  if (error instanceof NeedsGit || error instanceof GitFailed || error instanceof Unreadable)
    return true
  return codeOf(error) !== undefined
}

async function look(
  git: Git,
  call: RepositoryCall,
  settings: Settings,
  wanted: Wanted & BeforeGit,
  open: OpenObjects,
): Promise<GitFacts> {
  await refuseUnusual(call.dir, settings)
  const { head, refs } = await readRefs({
    dir: call.dir,
    name: '',
    objectFormat: isSha256(settings) ? 'sha256' : 'sha1',
  })
  const named = resolvedRefs(refs).map(({ ref, oid }) => ({ ref: readable(ref.name), oid }))
  const at: Head = 'oid' in head ? { commit: head.oid } : { ref: readable(head.target) }
  const tips = [...new Set([...named.map(({ oid }) => oid), ...('oid' in head ? [head.oid] : [])])]
  if (tips.length === 0) return { refs: await sumUp(at, []), oldest: null, tree: null }
  if (tips.length > MAX_TIPS) throw new NeedsGit('very many refs')

  await using objects = await open()
  const read = await readAll(objects, tips)
  const isDated = named.map(({ ref, oid }) => ({ ref, oid, time: timeOf(read.get(oid)!) }))
  const refFacts = await sumUp(at, isDated)
  const commit = refFacts.headCommit
  const tree = commit !== null && wanted.isTreeWanted(commit) ? read.get(commit)! : undefined
  return {
    refs: refFacts,
    oldest: wanted.birthday
      ? ((await walk(objects, [...read.values()])) ??
        (await wanted.beforeGit().then(() => oldestRoot(git, call))))
      : null,
    tree: tree ? await treeFacts(objects, parseCommit(tree), settings) : null,
  }
}

/** Where git would read refs or history in another way than from plain files, or refuse to. */
async function refuseUnusual(dir: string, settings: Settings): Promise<void> {
  for (const [key, values] of settings) {
    if (key.startsWith('extensions.') && key !== 'extensions.objectformat') throw new NeedsGit(key)
    if (key === 'core.repositoryformatversion' && !/^[01]$/.test(values.at(-1) ?? ''))
      throw new NeedsGit(key)
  }
  const isThere = (name: string) => lstat(join(dir, name)).catch(() => undefined)
  if (await isThere('shallow')) throw new NeedsGit('a shallow clone')
  const packed = await isThere('packed-refs')
  if (packed && packed.size > LARGEST_PACKED_REFS) throw new NeedsGit('very many refs')
}

const isSha256 = (settings: Settings): boolean =>
  settings.get('extensions.objectformat')?.at(-1) === 'sha256'

async function readAll(
  objects: ObjectReader,
  oids: readonly string[],
): Promise<Map<string, WholeObject>> {
  const read = await objects.read(oids)
  return new Map(
    read.map((object, index) => {
      if (!object) throw new NeedsGit('a missing object')
      return [oids[index]!, object]
    }),
  )
}

/** When a commit was made, or a tag; nothing else tells. */
function timeOf(object: WholeObject): number | null {
  if (object.type === 'commit') return moment(parseCommit(object).committed)
  return object.type === 'tag' ? moment(parseTag(object).tagged) : null
}

/** When the oldest commit without parents was made; undefined where history is long. */
async function walk(
  objects: ObjectReader,
  tips: readonly WholeObject[],
): Promise<number | null | undefined> {
  let oldest: number | null = null
  const seen = new Set<string>()
  let reached = tips
  while (reached.length > 0) {
    const next = new Set<string>()
    for (const object of reached) {
      for (const oid of leadsTo(object)) if (!seen.has(oid)) next.add(oid)
      const root = object.type === 'commit' ? rootOf(parseCommit(object)) : null
      oldest = earlier(oldest, root)
    }
    for (const oid of next) seen.add(oid)
    if (seen.size > MAX_COMMITS) return undefined
    reached = next.size === 0 ? [] : [...(await readAll(objects, [...next])).values()]
  }
  return oldest
}

function leadsTo(object: WholeObject): string[] {
  if (object.type === 'commit') return parseCommit(object).parents
  if (object.type !== 'tag') return []
  const { object: oid, type } = parseTag(object)
  return type === 'commit' || type === 'tag' ? [oid] : []
}

const rootOf = ({ parents, committed }: CommitObject): number | null =>
  parents.length === 0 ? moment(committed) : null

async function treeFacts(
  objects: ObjectReader,
  { tree }: CommitObject,
  settings: Settings,
): Promise<TreeFacts> {
  const files = await filesOfTree(objects, tree, isSha256(settings) ? 32 : 20)
  return factsOfTree(files, async (oids) => {
    return (await objects.read(oids)).map((blob) => blob?.bytes)
  })
}
