import { nextTurn } from './turns.ts'

export interface ConcurrencyLimit {
  /** How many items at a time. */
  lanes: number
  signal?: AbortSignal | undefined
}

/**
 * Works through items in order, some at a time; each lane takes its next item when it is done with the last. The first
 * failure stops the rest and is thrown when all have ended: whoever cleans up afterwards does so for good.
 */
export async function mapConcurrent<T>(
  items: Iterable<T> | AsyncIterable<T>,
  { lanes, signal }: ConcurrencyLimit,
  work: (item: T, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const failure = new AbortController()
  const stop = AbortSignal.any([failure.signal, ...(signal ? [signal] : [])])
  const queue = oneByOne(items)
  async function lane(): Promise<void> {
    try {
      for await (const item of queue) {
        stop.throwIfAborted()
        await nextTurn()
        await work(item, stop)
      }
    } catch (error) {
      failure.abort(error)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  stop.throwIfAborted()
}

/** What several can draw from at once: a generator answers in the order in which it was asked. */
async function* oneByOne<T>(items: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T> {
  yield* items
}
