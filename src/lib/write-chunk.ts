import type { Writable } from 'node:stream'

/** False where the stream was closed meanwhile: its reader went away, or hears of the failure itself. */
export function isWritten(stream: Writable, chunk: Uint8Array): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const onClose = () => resolve(false)
  stream.once('close', onClose)
  stream.write(chunk, (error) => resolve(!error))
  return promise.finally(() => stream.off('close', onClose))
}
