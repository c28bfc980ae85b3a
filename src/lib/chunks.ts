import type { Writable } from 'node:stream'

/** Yields the chunks unchanged and calls `onPiece` with each. */
export async function* onChunk<T extends Uint8Array>(
  bytes: AsyncIterable<T> | Iterable<T>,
  onPiece: (piece: T) => void,
  onEnd?: () => void,
): AsyncGenerator<T> {
  for await (const piece of bytes) {
    onPiece(piece)
    yield piece
  }
  onEnd?.()
}

/** Writes a chunk. Resolves to false if the stream was closed: its reader is gone, or gets the error itself. */
export function writeChunk(stream: Writable, chunk: Uint8Array): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const onClose = () => resolve(false)
  stream.once('close', onClose)
  stream.write(chunk, (error) => resolve(!error))
  return promise.finally(() => stream.off('close', onClose))
}
