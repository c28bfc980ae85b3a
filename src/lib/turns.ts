/** How long heavy work may block the thread in one turn of the event loop. */
const SLICE_MS = 10

let sliceEndsAt: number | undefined
const waiting: (() => void)[] = []

/**
 * Call it between pieces of heavy work, and await the result, so that requests are handled in between. Returns undefined while this
 * turn of the event loop has time left for heavy work, otherwise a promise for a later turn. All callers share the time of a turn,
 * so however many there are, each turn blocks equally long.
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

/** Like `Array.prototype.map`, but other work runs in between. */
export async function mapInTurns<T, R>(items: readonly T[], map: (item: T, index: number) => R) {
  const mapped: R[] = []
  for (let index = 0; index < items.length; index++) {
    mapped.push(map(items[index]!, index))
    const later = nextTurn()
    if (later) await later
  }
  return mapped
}
