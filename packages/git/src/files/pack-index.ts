import { endianness } from 'node:os'
import type { RegularFile } from './regular-file.ts'
import { NeedsGit } from './repository-errors.ts'

/** The file is not a valid pack index. */
export class BadIndex extends NeedsGit {
  override name = 'BadIndex'
}

/** The positions of the tables of a pack index (`.idx`), version 1 or 2. */
export interface IndexLayout {
  /** The number of objects. */
  count: number
  /** The table of 256 counts: how many names begin with a byte up to this one. */
  fanout: number
  /** The object names, in ascending order, `nameStep` bytes apart. */
  names: number
  nameStep: number
  /** The positions of the objects in the pack, in the order of their names, `offsetStep` bytes apart. */
  offsets: number
  offsetStep: number
  /** The CRC-32 of each object's bytes in the pack, in the order of the names; version 1 has none. */
  crcs: number | undefined
  /** The 64-bit offsets of objects beyond the first 2 GiB; empty in version 1. */
  largeOffsets: number
  /** The checksum of the pack, then that of the index. */
  trailer: number
}

/** The bytes at the beginning of an index that `indexLayout` needs. */
export const INDEX_HEAD_BYTES = 8 + 256 * 4
const MAGIC = 0xff744f63
const FANOUT_BYTES = 256 * 4
const OFFSET_BYTES = 4
const CRC_BYTES = 4
/** In version 2, this bit of an offset means that the other bits are a position in the table of large offsets. */
const LARGE_OFFSET = 0x80000000
export const LARGE_OFFSET_BYTES = 8

/** Throws BadIndex. `size` is the size of the file and `width` the length of an object name, both in bytes. */
export function indexLayout(head: Buffer, size: number, width: number): IndexLayout {
  const isVersion2 = head.length >= 8 && head.readUInt32BE(0) === MAGIC
  if (isVersion2 && head.readUInt32BE(4) !== 2)
    throw new BadIndex('the index has an unknown version')
  const fanout = isVersion2 ? 8 : 0
  const table = fanout + FANOUT_BYTES
  const trailer = size - 2 * width
  if (head.length < table || trailer < table) throw new BadIndex('the index is too short')
  const count = head.readUInt32BE(table - 4)
  if (!isVersion2) {
    // Each offset is followed by its object's name.
    const step = OFFSET_BYTES + width
    if (table + count * step !== trailer) throw wrongSize()
    const tables = { fanout, names: table + OFFSET_BYTES, nameStep: step, offsets: table }
    return { count, ...tables, offsetStep: step, crcs: undefined, largeOffsets: trailer, trailer }
  }
  const crcs = table + count * width
  const offsets = crcs + count * CRC_BYTES
  const largeOffsets = offsets + count * OFFSET_BYTES
  if (largeOffsets > trailer || (trailer - largeOffsets) % LARGE_OFFSET_BYTES !== 0)
    throw wrongSize()
  const tables = { fanout, names: table, nameStep: width, offsets, offsetStep: OFFSET_BYTES }
  return { count, ...tables, crcs, largeOffsets, trailer }
}

const wrongSize = () => new BadIndex('the size of the index is not that of its objects')

/** Returns the position of the offset in the table of large offsets; undefined if `offset` is the offset itself. */
export function largeOffsetPosition({ crcs }: IndexLayout, offset: number): number | undefined {
  const isVersion2 = crcs !== undefined
  return isVersion2 && offset >= LARGE_OFFSET
    ? (offset - LARGE_OFFSET) * LARGE_OFFSET_BYTES
    : undefined
}

export function readLargeOffset(table: Buffer, position: number): number {
  if (position + LARGE_OFFSET_BYTES > table.length)
    throw new BadIndex('the index names an offset that it does not have')
  return table.readUInt32BE(position) * 2 ** 32 + table.readUInt32BE(position + 4)
}

/** Entries of a pack, in the order of their offsets. */
export interface IndexedEntries {
  count: number
  offset(i: number): number
  /** The CRC-32 of the entry's bytes in the pack. */
  crc(i: number): number
  /** The first offset beyond these entries; undefined if they are the last. */
  next: number | undefined
}

/** An index that is read in the order of the pack, without object names. */
export interface PackIndex {
  count: number
  /** The checksum of the pack that this index belongs to. */
  packChecksum: Buffer
  hasCrcs: boolean
  /** Returns the entries that begin in a section of the pack at `start`. */
  entriesFrom(start: number): IndexedEntries
}

/** The length of a section: `entriesFrom` holds eight bytes of memory for each object in it. */
const SECTION_BYTES = 2 ** 30

/** Throws BadIndex. `width` is the length of an object name in bytes. */
export function openPackIndex(
  file: RegularFile,
  { width, sectionBytes = SECTION_BYTES }: { width: number; sectionBytes?: number },
): PackIndex {
  const head = readBytes(file, 0, Math.min(file.size, INDEX_HEAD_BYTES))
  const layout = indexLayout(head, file.size, width)
  const { count, largeOffsets, trailer } = layout
  const packChecksum = readBytes(file, trailer, width)
  const large = readBytes(file, largeOffsets, trailer - largeOffsets)
  return {
    count,
    hasCrcs: layout.crcs !== undefined,
    packChecksum,
    entriesFrom: (start) => readEntries(file, layout, large, { start, stop: start + sectionBytes }),
  }
}

const READ_AT_ONCE = 16_384

/** Sorts by offset. An offset and its CRC are stored as one 64-bit number, because typed arrays of numbers sort fastest. */
function readEntries(
  file: RegularFile,
  layout: IndexLayout,
  large: Buffer,
  { start, stop }: { start: number; stop: number },
): IndexedEntries {
  const { count, offsetStep } = layout
  // The kernel allocates only those pages of the array that are written.
  const keys = new BigUint64Array(count)
  const words = new Uint32Array(keys.buffer)
  let found = 0
  let next: number | undefined
  for (let from = 0; from < count; from += READ_AT_ONCE) {
    const length = Math.min(READ_AT_ONCE, count - from)
    const offsets = readBytes(file, layout.offsets + from * offsetStep, length * offsetStep)
    const crcs =
      layout.crcs === undefined
        ? undefined
        : readBytes(file, layout.crcs + from * CRC_BYTES, length * CRC_BYTES)
    for (let i = 0; i < length; i++) {
      const small = offsets.readUInt32BE(i * offsetStep)
      const position = largeOffsetPosition(layout, small)
      const offset = position === undefined ? small : readLargeOffset(large, position)
      if (offset >= stop) next = Math.min(next ?? offset, offset)
      if (offset < start || offset >= stop) continue
      words[2 * found + HIGH] = offset - start
      words[2 * found + LOW] = crcs?.readUInt32BE(i * CRC_BYTES) ?? 0
      found += 1
    }
  }
  keys.subarray(0, found).sort()
  return {
    count: found,
    next,
    offset: (i) => start + words[2 * i + HIGH]!,
    crc: (i) => words[2 * i + LOW]!,
  }
}

const HIGH = endianness() === 'LE' ? 1 : 0
const LOW = 1 - HIGH

function readBytes(file: RegularFile, position: number, length: number): Buffer {
  const bytes = file.read(position, length)
  if (bytes.length < length) throw new BadIndex('the index is too short')
  return bytes
}
