import type { Writable } from 'node:stream'

/** Yields the chunks unchanged, and calls `observe` with each and `onEnd` after the last. */
export async function* onChunk<T extends Uint8Array>(
  bytes: AsyncIterable<T> | Iterable<T>,
  observe: (chunk: T) => void,
  onEnd?: () => void,
): AsyncGenerator<T> {
  for await (const chunk of bytes) {
    observe(chunk)
    yield chunk
  }
  onEnd?.()
}

/** Writes a chunk. Resolves to false, instead of rejecting, if the stream was closed or failed. */
export function writeChunk(stream: Writable, chunk: Uint8Array): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const onClose = () => resolve(false)
  stream.once('close', onClose)
  stream.write(chunk, (error) => resolve(!error))
  return promise.finally(() => stream.off('close', onClose))
}

/** Yields the items in order, `size` at a time; the last batch may be smaller. */
export function* batchesOf<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let batch: T[] = []
  for (const item of items) {
    batch.push(item)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
