import { hash } from 'node:crypto'
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { hasCode, ifExists } from '@godwit/lib/errno'
import { mapInTurns } from '@godwit/lib/turns'
import { areRefsUnchanged, headsOf, type RefFolders, readRefs } from '../files/read-refs.ts'
import { type NamedDirectory, readText } from '../files/regular-file.ts'
import { ChangedDuringRead, orUnreadable, Unsupported } from '../files/repository-errors.ts'
import {
  hasAlternates,
  IS_PARTIAL_CLONE,
  readFormat,
  refuseExternalPaths,
  refusePartialHistory,
} from '../files/repository-format.ts'
import { flag, type Settings, setting } from '../files/repository-settings.ts'
import { lstat, lstatIfExists, readEntries, readNames, statTarget } from '../files/sync-fs.ts'
import type { Git } from '../git.ts'
import type { Refs } from '../refs.ts'
import type {
  BareRepository,
  Examination,
  ExaminedRepository,
  ObjectFile,
  PreservedSettings,
  RepositoryLocation,
} from '../snapshot.ts'
import { Unreadable } from '../unreadable.ts'
import { lfsPath, listLfsObjects, type SharedLfs } from './lfs-objects.ts'

/** Increase it when the snapshot of an unchanged repository gets other bytes, or more of it is verified or reported. */
export const SNAPSHOT_FORMAT = 12

const MAX_ATTEMPTS = 10

export interface ExamineDependencies {
  git: Git
  /** Has the LFS objects that are not in the repository itself. */
  sharedLfs?: SharedLfs | undefined
  signal: AbortSignal
}

/**
 * Finds out what a snapshot would hold, without reading objects. Safe during pushes and repacks. Throws Unsupported, Damaged or
 * Unreadable, with messages for a user.
 */
export async function examine(
  location: RepositoryLocation,
  dependencies: ExamineDependencies,
): Promise<Examination> {
  const { dir, wikiDir, fullName, origin, wikiOrigin } = location
  const repository = await examineOne({ dir, name: fullName, origin }, dependencies)
  const wikiAt = { name: `${fullName}.wiki`, origin: wikiOrigin }
  const wiki =
    wikiDir === undefined ? null : await examineOne({ dir: wikiDir, ...wikiAt }, dependencies)
  const files = [repository, wiki].flatMap((found) =>
    found ? [...found.objectFiles, ...found.lfsObjects] : [],
  )
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  const fingerprint = fingerprintOf(fullName, repository, wiki)
  return { location, repository, wiki, bytes, fingerprint }
}

type WithOrigin = Pick<ExaminedRepository, 'origin'>

async function examineOne(
  directory: NamedDirectory & WithOrigin,
  dependencies: ExamineDependencies,
): Promise<ExaminedRepository> {
  return orUnreadable(directory, dependencies.signal, async () => {
    const { objectFormat, ...config } = await readFormat(directory, dependencies)
    const repository = { ...directory, objectFormat }
    await refuseExternalPaths(repository)
    await refusePartialHistory(repository)
    return readUntilUnchanged(repository, config, dependencies)
  })
}

/**
 * Reads refs before objects, so that the list has every object that the refs name, and looks at them again after the objects, so that a
 * push of several refs is seen completely. If pushes never pause, the last attempt is used: each of its refs was right when it was read.
 */
async function readUntilUnchanged(
  repository: BareRepository & WithOrigin,
  { settings, lfsStorage }: { settings: Settings; lfsStorage: string | undefined },
  dependencies: ExamineDependencies,
): Promise<ExaminedRepository> {
  for (let attempt = 1; ; attempt++) {
    dependencies.signal.throwIfAborted()
    try {
      const readAt = Date.now()
      const folders: RefFolders = new Map()
      const refs = await readRefs(repository, folders)
      const files = await examineFiles(repository, settings)
      const lfs = await examineLfs({ ...repository, ...refs }, lfsStorage, dependencies)
      const isUnchanged =
        (await areRefsUnchanged(repository, folders, readAt)) ||
        JSON.stringify(refs) === JSON.stringify(await readRefs(repository))
      if (isUnchanged || attempt === MAX_ATTEMPTS)
        return { ...repository, ...refs, ...files, ...lfs }
    } catch (error) {
      if (!(error instanceof ChangedDuringRead)) throw error
      if (attempt === MAX_ATTEMPTS) throw changedTooOften(repository.name, error)
    }
  }
}

async function examineFiles(repository: BareRepository, settings: Settings) {
  const objectFiles = await listObjectFiles(repository)
  return {
    description: (await readText(repository, 'description')) ?? '',
    preserved: { denials: denialsOf(settings), ...(await readAttributes(repository)) },
    hasExternalObjects:
      (await hasAlternates(repository)) || (await hasLinkedObjects(repository, objectFiles)),
    objectFiles,
  }
}

async function examineLfs(
  repository: BareRepository & Refs,
  storage: string | undefined,
  { git, sharedLfs, signal }: ExamineDependencies,
): Promise<Pick<ExaminedRepository, 'lfsObjects' | 'lfsPointers'>> {
  const repositoryObjects = await listLfsObjects(repository, storage)
  if (!sharedLfs) return { lfsObjects: repositoryObjects, lfsPointers: null }
  const pointers = await sharedLfs
    .pointersOf(repository, headsOf(repository), git, signal)
    .catch(async (error: unknown) => {
      signal.throwIfAborted()
      // If a branch was deleted meanwhile, its objects may be missing without any damage.
      const now = headsOf(await readRefs(repository))
      throw now.join() === headsOf(repository).join()
        ? error
        : new ChangedDuringRead('refs changed')
    })
  const ownPaths = new Set(repositoryObjects.map(({ path }) => path))
  const wanted = pointers.filter(({ oid }) => !ownPaths.has(lfsPath(oid)))
  const shared = await sharedLfs.find(repository, storage, wanted)
  const files = shared.map(({ oid, ...file }) => ({ path: lfsPath(oid), ...file }))
  return { lfsObjects: [...repositoryObjects, ...files], lfsPointers: pointers }
}

export function changedTooOften(name: string, cause: unknown): Unreadable {
  return new Unreadable(`${name}: its files changed too often while they were read`, { cause })
}

/**
 * Lists finished packs and loose objects. A repack or gc can move an object meanwhile, but then a pack appears or disappears: the list
 * is complete only if the packs are the same before and after listing the loose objects. Otherwise throws ChangedDuringRead.
 * Bitmaps, reverse indexes, multi-pack-indexes and commit-graphs are left out: git recreates them when needed, and no check here
 * would find a wrong one.
 */
export async function listObjectFiles(repository: BareRepository): Promise<ObjectFile[]> {
  const before = await listPackFiles(repository)
  const loose = await listLooseObjects(repository)
  const files = await withSizes(repository, [...loose, ...before])
  const after = await listPackFiles(repository)
  if (before.join() !== after.join()) throw new ChangedDuringRead('packs changed')
  return files
}

/** Whether objects are behind links: then some may belong to other owners, and the files may hold more than the refs reach. */
export async function hasLinkedObjects(
  { dir }: BareRepository,
  files: readonly ObjectFile[],
): Promise<boolean> {
  if (files.some(({ path, from }) => from !== `${dir}/${path}`)) return true
  const objects = join(dir, 'objects')
  if ((await lstat(objects)).isSymbolicLink()) return true
  return (await readEntries(objects)).some((entry) => entry.isSymbolicLink())
}

const HEX_PAIR = /^[0-9a-f]{2}$/

/** The pattern excludes quarantined pushes (`incoming-*`, `tmp_objdir-*`) and unfinished `tmp_*` files. */
async function listLooseObjects(repository: BareRepository): Promise<string[]> {
  const rest = repository.objectFormat === 'sha256' ? /^[0-9a-f]{62}$/ : /^[0-9a-f]{38}$/
  const paths: string[] = []
  for (const folder of await listNames(repository, 'objects', HEX_PAIR))
    for (const path of await listNames(repository, folder, rest)) paths.push(path)
  return paths
}

/** Git writes a pack's index last and removes it first, so a pack without an index is unfinished or being removed. */
async function listPackFiles(repository: BareRepository): Promise<string[]> {
  const finished = /^(?!\.|tmp_).*\.(pack|idx|promisor)$/
  const paths = await listNames(repository, 'objects/pack', finished)
  if (paths.some((path) => path.endsWith('.promisor')))
    throw new Unsupported(repository.name, IS_PARTIAL_CLONE)
  const present = new Set(paths)
  const packs = paths.filter((path) => path.endsWith('.pack'))
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
  const names = await ifExists(readNames(join(repository.dir, folder)), 'ENOENT', 'ENOTDIR')
  const wanted = names?.filter((name) => pattern.test(name)) ?? []
  return wanted.map((name) => `${folder}/${name}`).sort()
}

function withSizes(repository: BareRepository, paths: string[]): Promise<ObjectFile[]> {
  return mapInTurns(paths, (path) => {
    try {
      // A hard link to a relative symbolic link would be broken in the scratch repository.
      const { path: from, stats } = statTarget(`${repository.dir}/${path}`)
      if (!stats.isFile()) throw new Unsupported(repository.name, `${path} is not a regular file`)
      return { path, size: stats.size, from }
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error
      const entry = lstatSync(`${repository.dir}/${path}`, { throwIfNoEntry: false })
      if (entry?.isSymbolicLink())
        throw new Unsupported(repository.name, `${path} is a broken symbolic link`, error)
      throw new ChangedDuringRead(`${path} disappeared`, { cause: error })
    }
  })
}

const DENIALS = ['denyNonFastForwards', 'denyDeletes', 'denyDeleteCurrent', 'denyCurrentBranch']

/** Returns only values that apply to a bare repository, which excludes `updateInstead`. */
function denialsOf(settings: Settings): PreservedSettings['denials'] {
  return DENIALS.flatMap((name): PreservedSettings['denials'] => {
    const key = `receive.${name.toLowerCase()}`
    const isFlag = typeof flag(settings, key) === 'boolean'
    const value = isFlag ? String(flag(settings, key)) : (setting(settings, key) ?? '')
    return isFlag || /^(?:refuse|warn|ignore)$/i.test(value) ? [[name, value.toLowerCase()]] : []
  })
}

/** Attributes behind a link, or of an excessive size, are not exported, but the repository is. */
async function readAttributes(directory: NamedDirectory) {
  const folder = await lstatIfExists(join(directory.dir, 'info'))
  if (folder?.isSymbolicLink())
    return { attributes: undefined, attributesProblem: 'info is a symbolic link' }
  try {
    const attributes = await readText(directory, 'info/attributes')
    return { attributes, attributesProblem: undefined }
  } catch (error) {
    if (!(error instanceof Unsupported)) throw error
    const attributesProblem = error.message.replace(`${directory.name}: `, '')
    return { attributes: undefined, attributesProblem }
  }
}

function fingerprintOf(
  fullName: string,
  repository: ExaminedRepository,
  wiki: ExaminedRepository | null,
): string {
  const canonical = [SNAPSHOT_FORMAT, fullName, content(repository), wiki && content(wiki)]
  return hash('sha256', JSON.stringify(canonical))
}

function content(found: ExaminedRepository): unknown {
  const pointer = (to: Refs['head']) => ('oid' in to ? to.oid : `ref: ${to.target}`)
  const file = ({ path, size }: ObjectFile) => [path, size]
  return [
    found.objectFormat,
    pointer(found.head),
    found.refs.map((ref) => [ref.name, pointer(ref)]),
    found.origin ?? null,
    found.description,
    [
      found.preserved.denials,
      found.preserved.attributes ?? null,
      found.preserved.attributesProblem ?? null,
    ],
    found.hasExternalObjects,
    found.objectFiles.map(file),
    found.lfsObjects.map(file),
  ]
}
