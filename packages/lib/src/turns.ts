/** How long heavy work may block the thread in one turn of the event loop. */
const SLICE_MS = 10
/** An iteration of the event loop in which anything happens takes longer: one without takes 0.01 ms, to accept a connection 0.1 ms. */
const IDLE_MS = 0.05

/** The end of the current slice of heavy work; undefined if there is none. */
let sliceDeadline: number | undefined
/** When the pause after the slice began; undefined during a slice. */
let pauseStartedAt: number | undefined
let lastIterationAt = 0
const waiting: (() => void)[] = []

/**
 * Call it between pieces of heavy work, and await the result, so that requests are handled in between. Returns undefined while this
 * turn of the event loop has time left for heavy work, otherwise a promise for a later turn. All callers share the time of a turn,
 * so however many there are, each turn blocks equally long.
 */
export function nextTurn(): Promise<void> | undefined {
  const now = performance.now()
  if (sliceDeadline === undefined) {
    sliceDeadline = now + SLICE_MS
    setImmediate(onIteration)
  }
  if (now < sliceDeadline) return undefined
  pauseStartedAt ??= now
  return new Promise((resolve) => waiting.push(resolve))
}

/**
 * Gives the rest of a slice to the next caller. Starts another slice once the event loop had nothing else to do, or other work has
 * had as long as a slice. One iteration is not enough for other work: Node accepts one connection in each, so with a slice in every
 * one, 20 new clients would wait for 20 slices.
 */
function onIteration(): void {
  const now = performance.now()
  const wasIdle = now - lastIterationAt < IDLE_MS
  lastIterationAt = now
  if (waiting.length === 0) {
    sliceDeadline = undefined
    pauseStartedAt = undefined
    return
  }
  setImmediate(onIteration)
  if (pauseStartedAt !== undefined || now >= sliceDeadline!) {
    pauseStartedAt ??= now
    if (!wasIdle && now < pauseStartedAt + SLICE_MS) return
    pauseStartedAt = undefined
    sliceDeadline = now + SLICE_MS
  }
  waiting.shift()!()
}

/** Like `Array.prototype.map`, but other work runs in between. */
export async function mapInTurns<T, R>(items: readonly T[], map: (item: T, index: number) => R) {
  const mapped: R[] = []
  await forEachInTurns(items, (item) => mapped.push(map(item, mapped.length)))
  return mapped
}

/** Calls `action` for each item. Other work runs in between. */
export async function forEachInTurns<T>(items: Iterable<T>, action: (item: T) => void) {
  for (const item of items) {
    action(item)
    const later = nextTurn()
    if (later) await later
  }
}

/**
 * Processes items in order, `concurrency` at a time, and returns the results in the order of the items. The first failure stops the
 * rest and is thrown after all running items have ended, so that the caller can clean up safely.
 */
export async function mapConcurrent<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  { concurrency, signal }: { concurrency: number; signal?: AbortSignal | undefined },
  work: (item: T, signal: AbortSignal, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const failure = new AbortController()
  const stop = AbortSignal.any([failure.signal, ...(signal ? [signal] : [])])
  const queue = inTurns(items)
  async function runItems(): Promise<void> {
    try {
      for await (const [index, item] of queue) {
        stop.throwIfAborted()
        results[index] = await work(item, stop, index)
      }
    } catch (error) {
      failure.abort(error)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, runItems))
  stop.throwIfAborted()
  return results
}

/**
 * Yields each item with its index after a call of `nextTurn`. A generator serializes concurrent calls of `next`, so several callers
 * can iterate it.
 */
async function* inTurns<T>(items: Iterable<T> | AsyncIterable<T>): AsyncGenerator<[number, T]> {
  let index = 0
  for await (const item of items) {
    await nextTurn()
    yield [index++, item]
  }
}
