/** How long heavy work may block the thread in one turn of the event loop. */
const SLICE_MS = 10
/** An iteration of the event loop in which anything happens takes longer: one without takes 0.01 ms, to accept a connection 0.1 ms. */
const IDLE_MS = 0.05

let sliceEndsAt: number | undefined
/** When the last slice ended; undefined while it runs. */
let sliceEndedAt: number | undefined
let lastTurnAt = 0
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
    setImmediate(startSlice)
  }
  if (now < sliceEndsAt) return undefined
  sliceEndedAt ??= now
  return new Promise((resolve) => waiting.push(resolve))
}

/**
 * Starts the next slice once the event loop had nothing else to do, or other work has had as long as a slice. One iteration is not
 * enough for other work: Node accepts one connection in each, so with a slice in every one, 20 new clients would wait for 20 slices.
 */
function startSlice(): void {
  const now = performance.now()
  const wasIdle = now - lastTurnAt < IDLE_MS
  lastTurnAt = now
  if (waiting.length === 0) {
    sliceEndsAt = undefined
    sliceEndedAt = undefined
    return
  }
  setImmediate(startSlice)
  sliceEndedAt ??= now
  if (!wasIdle && now < sliceEndedAt + SLICE_MS) return
  sliceEndedAt = undefined
  sliceEndsAt = now + SLICE_MS
  waiting.shift()!()
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
