import { statfs } from 'node:fs/promises'
import { type ArchiveEntry, readEntries } from '../archive/read-entries.ts'
import { ArchiveRefused } from '../archive/unreadable-archive.ts'
import type { Bytes } from '../blobs/blob-store.ts'

export { ArchiveRefused }

/** How much may be unpacked. */
export interface Room {
  bytes: number
  /** What the bytes are a part of, for the message. */
  where: string
}

const PART_OF_FREE = 0.9

export async function roomIn(directory: string): Promise<Room> {
  const { bavail, bsize } = await statfs(directory)
  return { bytes: Math.floor(bavail * bsize * PART_OF_FREE), where: directory }
}

const MAX_ENTRIES = 5_000_000
/** What the smallest file takes on a disk. */
const DISK_BLOCK = 4096
/** Records, refs and descriptions are read into memory; objects are not. */
const LARGEST_TEXT = 256 * 1024 * 1024
const IS_OBJECT = /^repositories\/[^/]+\/[^/]+\/(?:objects|lfs)\//

/**
 * The entries of an archive that anybody may have made. That paths are relative and lead nowhere else, and that there are
 * only files and directories, is the reader's to see to; here no path comes twice, nothing is inside a file, and all of
 * it fits. An entry is judged by its header, before any of its content is read.
 */
export async function* safeEntries(
  archive: Bytes,
  room: Room,
  signal: AbortSignal,
): AsyncGenerator<ArchiveEntry> {
  const taken = new Map<string, Taken>()
  let bytes = 0
  for await (const entry of readEntries(archive, { signal })) {
    const { path, size } = entry
    take(taken, entry)
    if (size > LARGEST_TEXT && !IS_OBJECT.test(path))
      throw new ArchiveRefused(`${path} is to have ${size} bytes, too many for what it is`)
    bytes += (Math.ceil(size / DISK_BLOCK) + 1) * DISK_BLOCK
    if (bytes > room.bytes)
      throw new ArchiveRefused(
        `up to ${path} it unpacks to ${bytes} bytes, and ${room.where} has room for ${room.bytes}`,
      )
    if (taken.size > MAX_ENTRIES)
      throw new ArchiveRefused(`it has more than ${MAX_ENTRIES} entries`)
    yield entry
  }
}

/** An implied directory has no entry of its own (yet), but something in it. */
type Taken = 'file' | 'directory' | 'implied'

function take(taken: Map<string, Taken>, { path, kind }: ArchiveEntry): void {
  const before = taken.get(path)
  if (before !== undefined && !(before === 'implied' && kind === 'directory'))
    throw new ArchiveRefused(`${path} is in it twice`)
  taken.set(path, kind)
  for (let end = path.lastIndexOf('/'); end !== -1; end = path.lastIndexOf('/', end - 1)) {
    const parent = path.slice(0, end)
    const there = taken.get(parent)
    if (there === 'file') throw new ArchiveRefused(`${path} would lie inside the file ${parent}`)
    if (there !== undefined) return
    taken.set(parent, 'implied')
  }
}
