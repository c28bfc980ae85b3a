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
