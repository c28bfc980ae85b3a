/** What has been rendered once, up to so many bytes in all; what was not asked for the longest goes first. */
export interface KeptBytes {
  /** Those who ask while it is being made wait for the same bytes. */
  getOrMake(key: string, make: () => Promise<Buffer>): Buffer | Promise<Buffer>
}

export function keepBytes(mostBytes: number): KeptBytes {
  // In the order of their last use.
  const kept = new Map<string, Buffer>()
  const beingMade = new Map<string, Promise<Buffer>>()
  let total = 0

  function keep(key: string, bytes: Buffer): void {
    if (bytes.length > mostBytes) return
    kept.set(key, bytes)
    total += bytes.length
    for (const [oldest, { length }] of kept) {
      if (total <= mostBytes) break
      kept.delete(oldest)
      total -= length
    }
  }

  async function makeOnce(key: string, make: () => Promise<Buffer>): Promise<Buffer> {
    try {
      const bytes = await make()
      keep(key, bytes)
      return bytes
    } finally {
      beingMade.delete(key)
    }
  }

  return {
    getOrMake(key, make) {
      const found = kept.get(key)
      if (found) {
        kept.delete(key)
        kept.set(key, found)
        return found
      }
      const waiting = beingMade.get(key)
      if (waiting) return waiting
      const making = makeOnce(key, make)
      beingMade.set(key, making)
      return making
    },
  }
}
