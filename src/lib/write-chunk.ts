import type { Writable } from 'node:stream'

/** Writes a chunk. Resolves to false if the stream was closed: its reader is gone, or gets the error itself. */
export function isWritten(stream: Writable, chunk: Uint8Array): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const onClose = () => resolve(false)
  stream.once('close', onClose)
  stream.write(chunk, (error) => resolve(!error))
  return promise.finally(() => stream.off('close', onClose))
}
