import { type FileHandle, open } from 'node:fs/promises'
import { endianness } from 'node:os'

/** Some entries of a pack, in the order of their offsets. */
export interface IndexedEntries {
  count: number
  offset(i: number): number
  /** Of the bytes of the entry as they are in the pack. */
  crc(i: number): number
  /** The first offset beyond these; undefined where these are the last. */
  next: number | undefined
}

/** What the index of a pack (version 1 or 2) says, without the names of the objects. */
export interface PackIndex extends AsyncDisposable {
  /** How many objects it names. */
  count: number
  /** Of the pack that it was made for. */
  packChecksum: Buffer
  /** Version 1 has none. */
  hasCrcs: boolean
  /** Those that begin within some stretch of the pack from `start` on. */
  entriesFrom(start: number): Promise<IndexedEntries>
}

/** How much of a pack is looked up at once: eight bytes for each of its objects are held in memory meanwhile. */
const STRETCH = 2 ** 30

/** The index is not what an index looks like. */
export class BadIndex extends Error {
  override name = 'BadIndex'
}

const MAGIC = 0xff744f63
const FANOUT = 256 * 4
const AT_ONCE = 16_384
const LARGE = 0x80000000

interface Layout {
  count: number
  hasCrcs: boolean
  /** Where each table begins, and how far apart its values are. */
  offsets: number
  crcs: number
  step: number
  large: number
  trailer: number
}

/** `width` is that of an object's name in bytes. */
export async function openPackIndex(
  path: string,
  { width, stretch = STRETCH }: { width: number; stretch?: number },
): Promise<PackIndex> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const layout = layoutOf(await bytesAt(file, 0, Math.min(size, 8 + FANOUT)), size, width)
    const packChecksum = await bytesAt(file, layout.trailer, width)
    const large = await bytesAt(file, layout.large, layout.trailer - layout.large)
    return {
      count: layout.count,
      hasCrcs: layout.hasCrcs,
      packChecksum,
      entriesFrom: (start) => collect(file, layout, large, { start, stop: start + stretch }),
      [Symbol.asyncDispose]: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

function layoutOf(head: Buffer, size: number, width: number): Layout {
  const isSecond = head.length >= 8 && head.readUInt32BE(0) === MAGIC
  if (isSecond && head.readUInt32BE(4) !== 2) throw new BadIndex('the index has an unknown version')
  const fanout = isSecond ? 8 : 0
  const table = fanout + FANOUT
  const trailer = size - 2 * width
  if (head.length < table || trailer < table) throw new BadIndex('the index is too short')
  const count = head.readUInt32BE(table - 4)
  const crcs = table + count * width
  const offsets = isSecond ? crcs + count * 4 : table
  const layout = isSecond
    ? { count, hasCrcs: true, crcs, offsets, step: 4, large: offsets + count * 4, trailer }
    : { count, hasCrcs: false, crcs, offsets, step: 4 + width, large: trailer, trailer }
  const end = isSecond ? layout.large : offsets + count * layout.step
  if (isSecond ? end > trailer || (trailer - end) % 8 !== 0 : end !== trailer)
    throw new BadIndex('the size of the index is not that of its objects')
  return layout
}

/** In the order of the offsets: an offset and its CRC are one number of 64 bits, and such numbers sort themselves fast. */
async function collect(
  file: FileHandle,
  layout: Layout,
  large: Buffer,
  { start, stop }: { start: number; stop: number },
): Promise<IndexedEntries> {
  const { count, hasCrcs, step } = layout
  // Only what is written to takes memory.
  const keys = new BigUint64Array(count)
  const words = new Uint32Array(keys.buffer)
  let found = 0
  let next: number | undefined
  for (let from = 0; from < count; from += AT_ONCE) {
    const length = Math.min(AT_ONCE, count - from)
    const offsets = await bytesAt(file, layout.offsets + from * step, length * step)
    const crcs = hasCrcs ? await bytesAt(file, layout.crcs + from * 4, length * 4) : undefined
    for (let i = 0; i < length; i++) {
      const offset = offsetOf(offsets.readUInt32BE(i * step), hasCrcs, large)
      if (offset >= stop) next = Math.min(next ?? offset, offset)
      if (offset < start || offset >= stop) continue
      words[2 * found + HIGH] = offset - start
      words[2 * found + LOW] = crcs?.readUInt32BE(i * 4) ?? 0
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

/** In version 2 the highest bit says that the offset is in the table of large ones. */
function offsetOf(said: number, mayBeLarge: boolean, large: Buffer): number {
  if (!mayBeLarge || said < LARGE) return said
  const at = (said - LARGE) * 8
  if (at + 8 > large.length) throw new BadIndex('the index names an offset that it does not have')
  return large.readUInt32BE(at) * 2 ** 32 + large.readUInt32BE(at + 4)
}

async function bytesAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  let done = 0
  while (done < length) {
    const { bytesRead } = await file.read(bytes, done, length - done, at + done)
    if (bytesRead === 0) throw new BadIndex('the index is too short')
    done += bytesRead
  }
  return bytes
}
