import { nextTurn } from './turns.ts'

export interface ConcurrencyOptions {
  /** How many items are processed at a time. */
  concurrency: number
  signal?: AbortSignal | undefined
}

/**
 * Processes items in order with limited concurrency. The first failure stops the rest and is thrown after all running items have
 * ended, so that the caller can clean up safely.
 */
export async function mapConcurrent<T>(
  items: Iterable<T> | AsyncIterable<T>,
  { concurrency, signal }: ConcurrencyOptions,
  work: (item: T, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const failure = new AbortController()
  const stop = AbortSignal.any([failure.signal, ...(signal ? [signal] : [])])
  const queue = inTurns(items)
  async function runItems(): Promise<void> {
    try {
      for await (const item of queue) {
        stop.throwIfAborted()
        await work(item, stop)
      }
    } catch (error) {
      failure.abort(error)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, runItems))
  stop.throwIfAborted()
}

/** Yields each item after a call of `nextTurn`. A generator serializes concurrent calls of `next`, so several callers can iterate it. */
async function* inTurns<T>(items: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T> {
  for await (const item of items) {
    await nextTurn()
    yield item
  }
}
