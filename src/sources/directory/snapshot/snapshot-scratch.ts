import { constants } from 'node:fs'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Git } from '../../../git/git.ts'
import { addDiskFacts } from '../../../lib/disk-errors.ts'
import { hasCode } from '../../../lib/errno.ts'
import { mapConcurrent } from '../../../lib/map-concurrent.ts'
import { readable, resolvingSymrefs } from '../../refs.ts'
import type { BareRepository, Found, ObjectFile } from '../../snapshot.ts'
import { tipsOf } from '../files/read-refs.ts'
import { ChangedDuringRead, faultByName, Unsupported } from '../files/repository-errors.ts'
import { PointerWatch } from './lfs-pointers.ts'
import { newestCommit } from './newest-commit.ts'
import { packBorrowed } from './pack-borrowed.ts'

export type Link = (from: string, to: string) => Promise<void>

/** A repository of our own making that holds all the source has, and can be read while the source changes. */
export interface ScratchRepository extends BareRepository {
  /** Every object that a ref names. */
  tips: string[]
  /** Relative to `dir`, parents first. */
  directories: string[]
  /** On disk is what git needs to walk the objects; the other texts are only here. */
  files: SnapshotFile[]
  /** Looks at what is read of `files`. */
  pointerWatch: PointerWatch
}

export type SnapshotFile = TextFile | { path: string; size: number; kind: ObjectKind }

interface TextFile {
  path: string
  size: number
  kind: 'text'
  bytes: Buffer
}

type ObjectKind = 'pack' | 'idx' | 'loose' | 'lfs'

/** Enough to keep the thread pool busy, few enough for any limit on open files. */
const LINKED_AT_ONCE = 32

/** Throws Moved when a file went away since it was found. */
export async function makeScratch(
  found: Found,
  dir: string,
  parts: { git: Git; signal: AbortSignal; link: Link },
): Promise<ScratchRepository> {
  const { git, signal } = parts
  const own = found.borrows ? [] : found.objectFiles
  const linked = [...own, ...found.lfsObjects]
  const folders = new Set([...GIT_NEEDS.folders, ...linked.map(({ path }) => dirname(path))])
  for (const folder of folders) await mkdir(join(dir, folder), { recursive: true })
  const stated = textFiles(found)
  for (const { path, bytes } of stated)
    if (GIT_NEEDS.texts.includes(path)) await writeFile(join(dir, path), bytes)
  await mapConcurrent(linked, { lanes: LINKED_AT_ONCE, signal }, (file) =>
    place(found, file, join(dir, file.path), parts.link),
  )
  const packed = found.borrows ? await packBorrowed(found, dir, git, signal) : []
  const tips = tipsOf(found)
  const newest = await newestCommit({ dir, objectFormat: found.objectFormat, tips }, git, signal)
  const texts = [...stated, ...(newest === undefined ? [] : [textFile('info/last-sync', newest)])]
  return {
    dir,
    name: found.name,
    objectFormat: found.objectFormat,
    tips,
    pointerWatch: new PointerWatch(),
    directories: parentsOf([...texts, ...linked].map(({ path }) => path)),
    files: [
      ...texts,
      ...[...packed, ...linked].map(({ path, size }) => ({ path, size, kind: kindOf(path) })),
    ],
  }
}

/** Before it takes a directory for a repository, and to walk and to pack objects by their names. */
const GIT_NEEDS = {
  folders: ['objects/info', 'objects/pack', 'refs'],
  texts: ['HEAD', 'config'],
}

/** Objects never change under their name, so a link is as good as a copy, as long as nobody writes through it. */
async function place(found: Found, file: ObjectFile, to: string, link: Link): Promise<void> {
  try {
    await link(file.from, to)
  } catch (linking) {
    // Another device, another owner under protected_hardlinks, a file system without links, too many links.
    if (hasCode(linking, 'ENOENT'))
      throw new ChangedDuringRead(`${file.path} disappeared`, { cause: linking })
    await copyFile(file.from, to, constants.COPYFILE_FICLONE).catch((error) => {
      if (hasCode(error, 'ENOENT'))
        throw new ChangedDuringRead(`${file.path} disappeared`, { cause: error })
      throw faultByName(found.name, addDiskFacts(error, to, file.size), found.dir)
    })
  }
}

/**
 * What git wants beside objects, as github.com writes it. The config is ours: no hook, program, credential or remote of the
 * source comes along.
 */
function textFiles(found: Found): TextFile[] {
  const packed = found.refs.flatMap((ref) => ('oid' in ref ? [`${ref.oid} ${ref.name}\n`] : []))
  const symbolic = resolvingSymrefs(found.refs).map(
    ({ name, target }) => [pathOf(found, name), `ref: ${target}\n`] as const,
  )
  const { head, kept } = found
  const { attributes } = kept
  const texts: (readonly [string, string])[] = [
    ['HEAD', 'oid' in head ? `${head.oid}\n` : `ref: ${head.target}\n`],
    ['config', scratchConfig(found)],
    ['description', found.description],
    ['info/nwo', Buffer.from(found.name).toString('latin1')],
    ...(attributes === undefined ? [] : ([['info/attributes', attributes]] as const)),
    ['packed-refs', `# pack-refs with: sorted \n${packed.join('')}`],
    ...symbolic,
  ]
  return texts.map(([path, text]) => textFile(path, text))
}

function textFile(path: string, text: string): TextFile {
  const bytes = Buffer.from(text, 'latin1')
  return { path, size: bytes.length, kind: 'text', bytes }
}

/** packed-refs cannot hold a symbolic ref, so its name becomes a path, and paths in an archive are UTF-8. */
function pathOf(found: Found, name: string): string {
  const path = readable(name)
  if (Buffer.from(path).equals(Buffer.from(name, 'latin1'))) return path
  throw new Unsupported(found.name, `the name of the symbolic ref ${path} is not UTF-8`)
}

const ALWAYS_THERE = ['info', 'objects', 'objects/info', 'objects/pack', 'refs/heads', 'refs/tags']

function parentsOf(paths: readonly string[]): string[] {
  const directories = new Set<string>()
  for (let path of [...ALWAYS_THERE, ...paths.map((file) => dirname(file))])
    for (; path !== '.' && !directories.has(path); path = dirname(path)) directories.add(path)
  return [...directories].sort()
}

function kindOf(path: string): ObjectKind {
  if (path.startsWith('lfs/')) return 'lfs'
  if (path.endsWith('.pack')) return 'pack'
  return path.endsWith('.idx') ? 'idx' : 'loose'
}

/**
 * The config of a snapshot, as `git clone --mirror` leaves it and github.com writes it: there are importers that give
 * `origin` another address, and fail where there is none. Every value is ours, or was chosen from a short list.
 */
function scratchConfig({ objectFormat, origin, kept }: Found): string {
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
          ['url', quotedIfNeeded(origin)],
          ['fetch', '+refs/*:refs/*'],
          ['mirror', 'true'],
        ]),
    kept.denials.length === 0 ? '' : section('receive', kept.denials),
  ].join('')
}

function section(name: string, settings: readonly (readonly [string, string])[]): string {
  return `[${name}]\n${settings.map(([key, value]) => `\t${key} = ${value}\n`).join('')}`
}

/** A comment would begin within a value that has no quotes. */
function quotedIfNeeded(value: string): string {
  return /[#;"\\]/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value
}
