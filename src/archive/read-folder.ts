import { constants, type Dirent, existsSync } from 'node:fs'
import { lstat, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../lib/user-error.ts'
import type { ArchiveEntry } from './read-entries.ts'
import { unsafePath } from './tar-header.ts'
import { ArchiveNotSupported, ArchiveRefused } from './unreadable-archive.ts'
import { isMacMetadata } from './without-folder.ts'

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
