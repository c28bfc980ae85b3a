import type { TokenHole } from './clone-token-holes.ts'

/** Text as bytes, and where tokens belong in it. */
export interface KeptText {
  bytes: Buffer
  holes: readonly TokenHole[]
}

/** Texts that were made once, by a number that stands for each: about so many bytes in all, those that are asked for again. */
export interface KeptTexts {
  get(key: number): KeptText | undefined
  keep(key: number, text: string, holesIn: (bytes: Buffer) => readonly TokenHole[]): KeptText
}

const SLAB_BYTES = 512 * 1024

/**
 * Two generations: what is asked for moves into the younger, and when that has its half of the room, the older is dropped
 * with all that nobody has asked for meanwhile.
 */
export function keepTexts(maxBytes: number, slabBytes = SLAB_BYTES): KeptTexts {
  const slabs = slabsOf(slabBytes)
  let young = new Map<number, KeptText>()
  let old = new Map<number, KeptText>()
  let youngBytes = 0

  function add(key: number, kept: KeptText): KeptText {
    const { length } = kept.bytes
    if (length > maxBytes / 2) return kept
    if (youngBytes + length > maxBytes / 2) {
      old = young
      young = new Map()
      youngBytes = 0
    }
    young.set(key, kept)
    youngBytes += length
    return kept
  }

  return {
    get(key) {
      const found = young.get(key)
      if (found) return found
      const older = old.get(key)
      // Copied: where it is now goes with the others of its generation.
      return older && add(key, { ...older, bytes: slabs.copy(older.bytes) })
    },

    keep(key, text, holesIn) {
      const bytes = slabs.write(text)
      return add(key, { bytes, holes: holesIn(bytes) })
    },
  }
}

/** No unit of a string takes more bytes than this in UTF-8. */
const MOST_OF_A_UNIT = 3

/** Many texts in one buffer: with a buffer for each, V8 collected all of its garbage twice as often while much was rendered. */
function slabsOf(slabBytes: number) {
  let slab = Buffer.alloc(0)
  let used = 0

  function haveRoomFor(length: number): void {
    if (slab.length - used >= length) return
    slab = Buffer.allocUnsafeSlow(slabBytes)
    used = 0
  }

  function take(length: number): Buffer {
    used += length
    return slab.subarray(used - length, used)
  }

  return {
    write(text: string): Buffer {
      const most = MOST_OF_A_UNIT * text.length
      if (most > slabBytes) return Buffer.from(text)
      haveRoomFor(most)
      return take(slab.write(text, used))
    },

    copy(bytes: Buffer): Buffer {
      if (bytes.length > slabBytes) return bytes
      haveRoomFor(bytes.length)
      slab.set(bytes, used)
      return take(bytes.length)
    },
  }
}
