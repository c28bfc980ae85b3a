import { constants, inflateSync } from 'node:zlib'
import { NeedsGit } from './object-reader.ts'

/** How much may still be unpacked: a few small deltas can stand for very many bytes. */
export interface Budget {
  bytes: number
}

type Read<T> = [value: T, end: number]

/** The kind and size of an entry of a pack: three bits, and numbers of seven bits, the lowest first. */
export function headIn(bytes: Buffer): Read<{ kind: number; size: number }> {
  const first = byteAt(bytes, 0)
  let size = first & 15
  let end = 1
  for (let scale = 16; byteAt(bytes, end - 1) & 128; scale *= 128)
    size += (byteAt(bytes, end++) & 127) * scale
  return [{ kind: (first >> 4) & 7, size }, end]
}

/** How far before a delta its base begins: numbers of seven bits, the highest first, each but the last one too small. */
export function distanceIn(bytes: Buffer, start: number): Read<number> {
  let end = start
  let distance = byteAt(bytes, end) & 127
  while (byteAt(bytes, end++) & 128) distance = (distance + 1) * 128 + (byteAt(bytes, end) & 127)
  return [distance, end]
}

/** A length as deltas have it: numbers of seven bits, the lowest first. */
function lengthIn(bytes: Buffer, start: number): Read<number> {
  let end = start
  let length = byteAt(bytes, end) & 127
  for (let scale = 128; byteAt(bytes, end++) & 128; scale *= 128)
    length += (byteAt(bytes, end) & 127) * scale
  return [length, end]
}

/** The length of what a delta makes, by its beginning. */
export function lengthMadeBy(delta: Buffer): number {
  const [, end] = lengthIn(delta, 0)
  return lengthIn(delta, end)[0]
}

/** What a delta makes of its base: stretches of it, and bytes of the delta's own. */
export function patched(base: Buffer, delta: Buffer, budget: Budget): Buffer {
  const [baseLength, afterBase] = lengthIn(delta, 0)
  const [length, start] = lengthIn(delta, afterBase)
  if (baseLength !== base.length) throw new NeedsGit('a delta of something else')
  const made = Buffer.allocUnsafe(allowed(length, budget))
  let filled = 0
  for (let at = start; at < delta.length; ) {
    const command = delta[at++]!
    const [from, begin, size, next] =
      command & 128 ? copied(base, delta, at, command) : added(delta, at, command)
    if (begin + size > from.length || filled + size > length)
      throw new NeedsGit('a delta beyond its end')
    from.copy(made, filled, begin, begin + size)
    filled += size
    at = next
  }
  if (filled !== length) throw new NeedsGit('a delta that ends early')
  return made
}

type Stretch = [from: Buffer, begin: number, size: number, next: number]

/** Four bits tell which bytes of the offset follow, three which of the size. */
function copied(base: Buffer, delta: Buffer, start: number, command: number): Stretch {
  let at = start
  const number = (bits: readonly number[]) =>
    bits.reduce((sum, bit, n) => (command & bit ? sum + byteAt(delta, at++) * 256 ** n : sum), 0)
  const begin = number([1, 2, 4, 8])
  const size = number([16, 32, 64]) || 0x10000
  return [base, begin, size, at]
}

function added(delta: Buffer, at: number, size: number): Stretch {
  if (size === 0) throw new NeedsGit('a delta of an unknown kind')
  return [delta, at, size, at + size]
}

/** Takes what is to be unpacked off what is left. */
export function allowed(bytes: number, budget: Budget): number {
  budget.bytes -= bytes
  if (!(budget.bytes >= 0)) throw new NeedsGit('very large objects')
  return bytes
}

/** `packed` may go on behind it. */
export function inflated(packed: Buffer, size: number): Buffer {
  // With room left over it ends where its bytes end, whatever follows them.
  const room = size + 64
  const bytes = inflateSync(packed, { chunkSize: room, maxOutputLength: room })
  if (bytes.length !== size) throw new NeedsGit('an object of another size')
  return bytes
}

/** What the beginning of packed bytes holds. */
export function beginningOf(packed: Buffer): Buffer {
  return inflateSync(packed, { finishFlush: constants.Z_SYNC_FLUSH })
}

function byteAt(bytes: Buffer, at: number): number {
  const byte = bytes[at]
  if (byte === undefined) throw new NeedsGit('a pack that is cut off')
  return byte
}
