import { nextTurn } from './turns.ts'

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
