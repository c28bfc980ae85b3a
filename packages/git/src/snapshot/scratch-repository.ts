import { constants } from 'node:fs'
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { addDiskDetails, withWriteContext } from '@godwit/lib/disk-errors'
import { hasCode } from '@godwit/lib/errno'
import { mapConcurrent } from '@godwit/lib/turns'
import { readRefs, tipsOf } from '../files/read-refs.ts'
import { ChangedDuringRead, toUnreadable, Unsupported } from '../files/repository-errors.ts'
import { readAlternates, refuseSpecialObjects } from '../files/special-files.ts'
import { type Git, LONG_TIMEOUT_MS } from '../git.ts'
import { decodeUtf8, resolvableSymrefs } from '../refs.ts'
import type { BareRepository, ExaminedRepository, ObjectFile } from '../snapshot.ts'
import { hasLinkedObjects, listObjectFiles } from './examine.ts'
import { ContentDetector } from './lfs-pointers.ts'
import { type CopiedFile, packLooseObjects } from './pack-loose-objects.ts'
import { newestCommit, readSmallRepository } from './small-repository.ts'

export type Link = (from: string, to: string) => Promise<void>

/**
 * A repository made by us, which does not change with the source. It has all objects of the source, or only the reachable ones if some
 * of them belong to other repositories.
 */
export interface ScratchRepository extends BareRepository {
  /** The objects that refs name. */
  tips: string[]
  /** The paths of the files that its objects are from. */
  sources: string[]
  /** Relative to `dir`, parents first. */
  directories: string[]
  /** Of the text files, only those that git needs to walk the objects are on disk. */
  files: SnapshotFile[]
  /** Sees the objects while `files` are read. */
  detector: ContentDetector
  /** Whether every object that the tips reach is known to be present. */
  isConnected: boolean
}

export type SnapshotFile = TextFile | FileOfObjects

interface FileOfObjects extends CopiedFile {
  kind: ObjectKind
}

interface TextFile {
  path: string
  size: number
  kind: 'text'
  bytes: Buffer
}

type ObjectKind = 'pack' | 'idx' | 'loose' | 'lfs'

/** Enough to keep the thread pool busy, few enough for any limit on open files. */
const MAX_CONCURRENT_LINKS = 32

/** Throws ChangedDuringRead if a file has disappeared since the examination. */
export async function makeScratchRepository(
  found: ExaminedRepository,
  dir: string,
  dependencies: { git: Git; signal: AbortSignal; link: Link },
): Promise<ScratchRepository> {
  const { git, signal } = dependencies
  for (const folder of GIT_NEEDS.folders) await mkdir(join(dir, folder), { recursive: true })
  for (const { path, bytes } of textFiles(found))
    if (GIT_NEEDS.texts.includes(path)) await write(join(dir, path), bytes)
  const others: ObjectFile[] = []
  if (found.hasExternalObjects) await packReachable(found, dir, git, signal)
  else
    for await (const { path, bytes } of packLooseObjects(found, others, signal))
      await write(join(dir, path), bytes)
  const packs = await listObjectFiles({ ...found, dir })
  const linked = [...withoutPacks(others, packs), ...found.lfsObjects]
  for (const folder of new Set(linked.map(({ path }) => dirname(path))))
    await mkdir(join(dir, folder), { recursive: true })
  await mapConcurrent(linked, { concurrency: MAX_CONCURRENT_LINKS, signal }, (file) =>
    linkOrCopy(found, file, join(dir, file.path), dependencies.link),
  )
  const { objectFormat } = found
  const newest = await newestCommit({ dir, objectFormat, tips: tipsOf(found) }, git, signal)
  return describeRepository({ ...found, dir }, [...packs, ...linked], newest)
}

const write = (path: string, bytes: Buffer) =>
  withWriteContext(path, () => writeFile(path, bytes), bytes.length)

/** Returns a copy whose objects are in memory, or undefined if it has to be on disk. */
export async function copyToMemory(
  found: ExaminedRepository,
  signal: AbortSignal,
): Promise<ScratchRepository | undefined> {
  const copy = await readSmallRepository(found)
  if (!copy) return undefined
  const { contents, newest } = copy
  const objectFiles = found.objectFiles.map((file) => ({ ...file, bytes: contents.get(file.path) }))
  const others: CopiedFile[] = []
  const packs: CopiedFile[] = []
  for await (const { path, bytes } of packLooseObjects({ ...found, objectFiles }, others, signal))
    packs.push({ path, bytes, size: bytes.length, from: path })
  return {
    ...describeRepository(found, [...packs, ...withoutPacks(others, packs)], newest),
    isConnected: true,
  }
}

/** The source may have the same packs, if an archive was extracted over it. */
function withoutPacks(others: readonly CopiedFile[], packs: readonly ObjectFile[]): CopiedFile[] {
  const paths = new Set(packs.map(({ path }) => path))
  return others.filter(({ path }) => !paths.has(path))
}

function describeRepository(
  found: ExaminedRepository,
  objectFiles: readonly CopiedFile[],
  newest: string | undefined,
): ScratchRepository {
  const { dir, name, objectFormat } = found
  const lastSync = newest === undefined ? [] : [textFile('info/last-sync', newest)]
  const texts = [...textFiles(found), ...lastSync]
  return {
    dir,
    name,
    objectFormat,
    tips: tipsOf(found),
    sources: (found.hasExternalObjects ? objectFiles : found.objectFiles).map(({ path }) => path),
    detector: new ContentDetector(),
    isConnected: false,
    directories: parentsOf([...texts, ...objectFiles].map(({ path }) => path)),
    files: [
      ...texts,
      ...objectFiles.map((file) => ({ ...file, kind: kindOf(file.path) })).sort(inOrder),
    ],
  }
}

const KINDS_IN_ORDER = ['loose', 'pack', 'idx', 'lfs']

/** An archive that is restored and exported again must be the same, although its new packs are then packs of the source. */
function inOrder(a: FileOfObjects, b: FileOfObjects): number {
  const key = ({ kind, path }: FileOfObjects) => `${KINDS_IN_ORDER.indexOf(kind)} ${path}`
  return key(a) < key(b) ? -1 : 1
}

/** What git needs to accept a directory as a repository, and to walk and pack its objects. */
const GIT_NEEDS = {
  folders: ['objects/info', 'objects/pack', 'refs'],
  texts: ['HEAD', 'config'],
}

/** Object files never change, so a hard link is as good as a copy. */
async function linkOrCopy(
  found: ExaminedRepository,
  file: ObjectFile,
  to: string,
  link: Link,
): Promise<void> {
  try {
    // Copies for another device, another owner under protected_hardlinks, a file system without links, or too many links.
    await link(file.from, to).catch(() => copyFile(file.from, to, constants.COPYFILE_FICLONE))
  } catch (error) {
    if (hasCode(error, 'ENOENT'))
      throw new ChangedDuringRead(`${file.path} disappeared`, { cause: error })
    throw toUnreadable(addDiskDetails(error, to, file.size), found)
  }
}

/**
 * Returns the files that git needs besides objects, in the form of github.com's archives. The config is ours: it has no hook, program or
 * credential of the source, and its only remote is the clone URL.
 */
function textFiles(found: ExaminedRepository): TextFile[] {
  const packed = found.refs.flatMap((ref) => ('oid' in ref ? [`${ref.oid} ${ref.name}\n`] : []))
  const { head } = found
  const { attributes } = found.preserved
  return [
    textFile('HEAD', 'oid' in head ? `${head.oid}\n` : `ref: ${head.target}\n`),
    textFile('config', scratchConfig(found)),
    textFile('description', found.description),
    textFile('info/nwo', Buffer.from(found.name).toString('latin1')),
    ...(attributes === undefined ? [] : [textFile('info/attributes', attributes)]),
    textFile('packed-refs', `# pack-refs with: sorted \n${packed.join('')}`),
    ...resolvableSymrefs(found.refs).map(({ name, target }) =>
      textFile(pathOf(found, name), `ref: ${target}\n`),
    ),
  ]
}

/** `text` is a byte string (latin1), because descriptions and names of refs may have any encoding. */
function textFile(path: string, text: string): TextFile {
  const bytes = Buffer.from(text, 'latin1')
  return { path, size: bytes.length, kind: 'text', bytes }
}

/** A symbolic ref needs a file of its own, since packed-refs cannot hold it, and paths in an archive are UTF-8. */
function pathOf(found: ExaminedRepository, name: string): string {
  const path = decodeUtf8(name)
  if (Buffer.from(path).equals(Buffer.from(name, 'latin1'))) return path
  throw new Unsupported(found.name, `the name of the symbolic ref ${path} is not UTF-8`)
}

const ALWAYS_PRESENT = [
  'info',
  'objects',
  'objects/info',
  'objects/pack',
  'refs/heads',
  'refs/tags',
]

function parentsOf(paths: readonly string[]): string[] {
  const directories = new Set<string>()
  for (let path of [...ALWAYS_PRESENT, ...paths.map((file) => dirname(file))])
    for (; path !== '.' && !directories.has(path); path = dirname(path)) directories.add(path)
  return [...directories].sort()
}

function kindOf(path: string): ObjectKind {
  if (path.startsWith('lfs/')) return 'lfs'
  if (path.endsWith('.pack')) return 'pack'
  return path.endsWith('.idx') ? 'idx' : 'loose'
}

/**
 * Returns the config as `git clone --mirror` and github.com write it: some importers change the URL of `origin`, and fail without that
 * remote. Of the source's settings, only those of `receive` that refuse pushes are kept.
 */
function scratchConfig({ objectFormat, origin, preserved }: ExaminedRepository): string {
  const isSha1 = objectFormat === 'sha1'
  return [
    section('core', [
      ['repositoryformatversion', isSha1 ? '0' : '1'],
      ['filemode', 'true'],
      ['bare', 'true'],
    ]),
    isSha1 ? '' : section('extensions', [['objectFormat', objectFormat]]),
    origin === undefined
      ? ''
      : section('remote "origin"', [
          ['url', quoteIfNeeded(origin)],
          ['fetch', '+refs/*:refs/*'],
          ['mirror', 'true'],
        ]),
    preserved.denials.length === 0 ? '' : section('receive', preserved.denials),
  ].join('')
}

function section(name: string, settings: readonly (readonly [string, string])[]): string {
  return `[${name}]\n${settings.map(([key, value]) => `\t${key} = ${value}\n`).join('')}`
}

/** Without quotes, `#` and `;` begin a comment. */
function quoteIfNeeded(value: string): string {
  return /[#;"\\]/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value
}

/**
 * A wrong bitmap or commit-graph of the source or its alternates must not decide what is packed. With several threads the deltas would
 * differ each time, but the same repository must give the same bytes.
 */
const PACKING = {
  'core.commitGraph': 'false',
  'core.multiPackIndex': 'false',
  'pack.readReverseIndex': 'false',
  'pack.threads': '1',
  'pack.useBitmaps': 'false',
  'pack.writeReverseIndex': 'false',
}

/**
 * Packs into `dir` only the objects that the refs reach: others may belong to another owner. Git runs in our repository, with the source
 * as an alternate, so the config of the source has no effect.
 */
async function packReachable(
  found: ExaminedRepository,
  dir: string,
  git: Git,
  signal: AbortSignal,
): Promise<void> {
  const tips = tipsOf(found)
  if (tips.length === 0) return
  const packs = join(dir, 'objects/pack')
  const alternates = join(dir, 'objects/info/alternates')
  await refuseSpecialObjects(found)
  await writeFile(alternates, await alternatesOf(found))
  await git
    .run(['pack-objects', '--revs', '--delta-base-offset', '--quiet', join(packs, 'pack')], {
      dir,
      input: `${tips.join('\n')}\n`,
      config: PACKING,
      // After this message git goes on with wrong bytes.
      failurePattern: /bad packed object CRC/,
      timeoutMs: LONG_TIMEOUT_MS,
      signal,
    })
    .catch(async (error) => {
      signal.throwIfAborted()
      // If a ref was deleted meanwhile, its objects may be missing without any damage.
      const now = tipsOf(await readRefs(found))
      if (now.join() !== tips.join()) throw new ChangedDuringRead('refs changed', { cause: error })
      throw toUnreadable(error, { name: found.name, dir })
    })
  await rm(alternates)
}

/** Returns the source and its own alternates as absolute paths: old versions of git resolve relative ones only at the first level. */
async function alternatesOf(found: ExaminedRepository): Promise<string> {
  const objects = resolve(found.dir, 'objects')
  const alternates = await readAlternates(found, objects, 'objects')
  if (alternates.length === 0 && !(await hasLinkedObjects(found, found.objectFiles)))
    throw new ChangedDuringRead('it no longer has alternates')
  return `${[objects, ...alternates].join('\n')}\n`
}
