import type { TokenHole } from './clone-token-holes.ts'

/** Text as bytes, and where tokens belong in it. */
export interface KeptText {
  bytes: Buffer
  holes: readonly TokenHole[]
}

/** Texts that were made once, by a number that stands for each: about so many bytes in all, those that are asked for again. */
export interface KeptTexts {
  get(key: number): KeptText | undefined
  /**
   * Whether this has been asked about before, not too long ago: what is asked for once only would drive out what others ask
   * for again and again.
   */
  isAskedAgain(key: number): boolean
  keep(key: number, text: KeptText): void
}

const MAX_ASKED_ONCE = 50_000

/**
 * Two generations: what is asked for moves into the younger, and when that has its half of the room, the older is dropped
 * with all that nobody has asked for meanwhile.
 */
export function keepTexts(maxBytes: number): KeptTexts {
  let young = new Map<number, KeptText>()
  let old = new Map<number, KeptText>()
  let youngBytes = 0
  let askedOnce = new Set<number>()

  function keep(key: number, text: KeptText): void {
    const { length } = text.bytes
    if (length > maxBytes / 2) return
    if (youngBytes + length > maxBytes / 2) {
      old = young
      young = new Map()
      youngBytes = 0
    }
    young.set(key, text)
    youngBytes += length
  }

  return {
    get(key) {
      const found = young.get(key)
      if (found) return found
      const older = old.get(key)
      if (older) keep(key, older)
      return older
    },

    isAskedAgain(key) {
      if (askedOnce.has(key)) return true
      if (askedOnce.size >= MAX_ASKED_ONCE) askedOnce = new Set()
      askedOnce.add(key)
      return false
    },

    keep,
  }
}
