import { constants, type Dirent, existsSync } from 'node:fs'
import { lstat, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '@godwit/lib/user-error'
import { MANIFEST_PATH, UPLOAD_FOLDERS } from './manifest.ts'
import type { ArchiveEntry } from './read-entries.ts'
import { unsafePath } from './tar-header.ts'
import { ArchiveNotSupported, ArchiveRefused } from './unreadable-archive.ts'

/** A directory that an archive was unpacked into. */
export interface Folder {
  folder: string
}

const CHUNK = 256 * 1024
const SLASH = Buffer.from('/')
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads an unpacked archive as entries: directories before their contents, sorted by name. Leaves metadata of macOS out. */
export async function* readFolder(
  { folder }: Folder,
  { signal }: { signal?: AbortSignal | undefined } = {},
): AsyncGenerator<ArchiveEntry> {
  // The last two are in project exports of GitLab.
  const known = ['schema.json', 'repositories', 'project.json', 'tree']
  const isArchive = known.some((name) => existsSync(join(folder, name)))
  if (!isArchive)
    throw new ArchiveNotSupported(
      `the directory ${folder} has neither schema.json nor repositories`,
    )
  yield* entriesBelow(Buffer.from(folder), '', signal)
}

async function* entriesBelow(
  folder: Buffer,
  prefix: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<ArchiveEntry> {
  const found = await readdir(folder, { withFileTypes: true, encoding: 'buffer' })
  for (const each of found.sort((a, b) => Buffer.compare(a.name, b.name))) {
    signal?.throwIfAborted()
    const path = `${prefix}${decodeName(each.name, prefix)}`
    const bad = unsafePath(path)
    if (bad) throw new ArchiveRefused(`the path ${JSON.stringify(path)} ${bad}`)
    const here = Buffer.concat([folder, SLASH, each.name])
    if (each.isDirectory()) {
      const { mtimeMs: modifiedAt } = await lstat(here)
      yield { path, kind: 'directory', size: 0, modifiedAt, content: noContent() }
      yield* entriesBelow(here, `${path}/`, signal)
    } else if (each.isFile()) {
      if (!isMacMetadata(path)) yield* fileEntry(here, path, signal)
    } else {
      throw new ArchiveNotSupported(`it holds ${describeType(each)}: ${JSON.stringify(path)}`)
    }
  }
}

/** Yields the entry of a file. Does not follow a link that has replaced the file meanwhile. */
async function* fileEntry(
  here: Buffer,
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<ArchiveEntry> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  await using handle = await open(here, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  const stats = await handle.stat()
  if (!stats.isFile()) throw changedDuringRead(path)
  const { size, mtimeMs: modifiedAt } = stats
  async function* content(): AsyncGenerator<Uint8Array> {
    for (let done = 0; done < size; ) {
      signal?.throwIfAborted()
      const wanted = Math.min(CHUNK, size - done)
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(wanted), 0, wanted, done)
      if (bytesRead === 0) throw changedDuringRead(path)
      done += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  }
  yield { path, kind: 'file', size, modifiedAt, content: content() }
}

const changedDuringRead = (path: string) =>
  new UserError(
    `${path} was changed while it was read: try again when no program changes the directory`,
  )

function decodeName(name: Buffer, prefix: string): string {
  try {
    return utf8.decode(name)
  } catch {
    const path = JSON.stringify(`${prefix}${name.toString('utf8')}`)
    throw new ArchiveNotSupported(`the path ${path} is not UTF-8`)
  }
}

function describeType(found: Dirent<Buffer>): string {
  if (found.isSymbolicLink()) return 'a symbolic link'
  if (found.isFIFO()) return 'a named pipe'
  return found.isSocket() ? 'a socket' : 'a device'
}

async function* noContent(): AsyncGenerator<Uint8Array> {}

/** The last five are folders of GitLab's project exports. */
const FOLDERS = [
  'repositories',
  ...UPLOAD_FOLDERS,
  'tree',
  'uploads',
  'lfs-objects',
  'snippets',
  'avatar',
]
const FILES = [
  ...['schema.json', MANIFEST_PATH, 'VERSION', 'GITLAB_VERSION', 'GITLAB_REVISION', 'project.json'],
  ...['project.bundle', 'project.wiki.bundle', 'project.design.bundle', 'lfs-objects.json'],
].map(RegExp.escape)
const TOP_LEVEL_PATH = new RegExp(
  `^(?:${FILES.join('|')}|[a-z][a-z_]*_\\d{6}\\.json|(?:${FOLDERS.join('|')})/.+)$`,
  's',
)

const IN_UPLOADS = new RegExp(`(?:^|/)(?:${[...UPLOAD_FOLDERS, 'uploads'].join('|')})/`)

/** Whether macOS wrote this file beside another one, for the attributes of that. Uploaded files may have such names themselves. */
const isMacMetadata = (path: string): boolean =>
  path.startsWith('._', path.lastIndexOf('/') + 1) && !IN_UPLOADS.test(path)

/**
 * Removes a folder that contains the whole archive, as `tar czf x.tgz folder/` creates it. The first file decides: if it belongs to
 * the top level of an archive, but is in a folder that does not, that folder is removed. All later entries must be in it. Leaves
 * metadata of macOS out.
 */
export async function* withoutFolder(
  entries: AsyncIterable<ArchiveEntry>,
): AsyncGenerator<ArchiveEntry> {
  /** Directories before the first file. They are held back until it is known which folder to remove. */
  let waiting: ArchiveEntry[] | undefined = []
  let around = ''
  for await (const entry of entries) {
    if (entry.kind === 'file' && isMacMetadata(entry.path)) continue
    if (waiting && entry.kind === 'directory') {
      waiting.push(entry)
      if (waiting.length < MAX_WAITING) continue
    }
    if (waiting) {
      around = entry.kind === 'file' ? folderAround(entry.path) : ''
      for (const each of waiting) yield* inside(each, around)
      waiting = undefined
      if (entry.kind === 'directory') continue
    }
    yield* inside(entry, around)
  }
  yield* waiting ?? []
}

const MAX_WAITING = 10_000

/** Returns the folder that contains the archive, with a trailing slash. Returns '' if there is none or the path is unknown. */
function folderAround(path: string): string {
  const parts = path.split('/')
  if (FOLDERS.includes(parts[0]!)) return ''
  for (let depth = 1; depth < parts.length; depth++)
    if (TOP_LEVEL_PATH.test(parts.slice(depth).join('/')))
      return `${parts.slice(0, depth).join('/')}/`
  return ''
}

function* inside(entry: ArchiveEntry, around: string): Generator<ArchiveEntry> {
  const { path, kind } = entry
  if (path.startsWith(around)) yield { ...entry, path: path.slice(around.length) }
  else if (kind !== 'directory' || !around.startsWith(`${path}/`))
    throw new ArchiveRefused(
      `${path} is beside ${around.slice(0, -1)}, which holds an archive: pack it from inside that folder`,
    )
}
