/** Bytes that were made once, by a number that stands for them: about so many in all, those that are asked for again. */
export interface KeptBytes {
  get(key: number): Buffer | undefined
  keep(key: number, bytes: Buffer): void
}

/**
 * Two generations: what is asked for moves into the younger, and when that has its half of the room, the older is dropped
 * with all that nobody has asked for meanwhile.
 */
export function keepBytes(maxBytes: number): KeptBytes {
  let young = new Map<number, Buffer>()
  let old = new Map<number, Buffer>()
  let youngBytes = 0

  function keep(key: number, bytes: Buffer): void {
    if (bytes.length > maxBytes / 2 || young.has(key)) return
    if (youngBytes + bytes.length > maxBytes / 2) {
      old = young
      young = new Map()
      youngBytes = 0
    }
    young.set(key, bytes)
    youngBytes += bytes.length
  }

  return {
    get(key) {
      const found = young.get(key)
      if (found) return found
      const older = old.get(key)
      if (older) keep(key, older)
      return older
    },
    keep,
  }
}
