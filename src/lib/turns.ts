/** How long heavy work may hold the thread in one turn of the event loop. */
const SLICE_MS = 10

let sliceEndsAt: number | undefined
const waiting: (() => void)[] = []

/**
 * Called between pieces of work that together hold the thread for long, so that requests are answered in between. Returns
 * undefined while this turn of the event loop has time left for such work, otherwise a promise of a later turn. The time is
 * shared by all who call this: however many work at once, each turn of the event loop does the same amount of it.
 */
export function nextTurn(): Promise<void> | undefined {
  const now = performance.now()
  if (sliceEndsAt === undefined) {
    sliceEndsAt = now + SLICE_MS
    setImmediate(endSlice)
  }
  if (now < sliceEndsAt) return undefined
  return new Promise((resolve) => waiting.push(resolve))
}

function endSlice(): void {
  const next = waiting.shift()
  if (!next) {
    sliceEndsAt = undefined
    return
  }
  sliceEndsAt = performance.now() + SLICE_MS
  setImmediate(endSlice)
  next()
}

/** `Array.prototype.map` for many items, with turns in between. */
export async function mapInTurns<T, R>(
  items: readonly T[],
  map: (item: T, index: number) => R,
): Promise<R[]> {
  const mapped: R[] = []
  for (let index = 0; index < items.length; index++) {
    mapped.push(map(items[index]!, index))
    const later = nextTurn()
    if (later) await later
  }
  return mapped
}
