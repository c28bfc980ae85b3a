import { type DiskStore, isOnDisk } from '@godwit/archive/tar/blob-reader'
import {
  type Abortable,
  BlobNotFound,
  type BlobStore,
  type ComposingStore,
  isComposing,
} from './blob-store.ts'

/** The operations that can fail. `read` means that a blob was opened, but could not be read to its end. */
export const BLOB_OPERATIONS = [
  'put',
  'open',
  'read',
  'size',
  'delete',
  'list',
  'sweep',
  'probe',
  'compose',
] as const
export type BlobOperation = (typeof BLOB_OPERATIONS)[number]

/**
 * Wraps a store so that `onError` is called for each of its failures. Operations that the caller aborted, and errors thrown
 * by the bytes that the caller passed, are not failures of the store. Nor is a missing blob: it may have been deleted meanwhile, and
 * only the caller knows.
 */
export function watchErrors(
  blobs: BlobStore,
  onError: (operation: BlobOperation) => void,
): BlobStore {
  const watch = <T>(
    operation: BlobOperation,
    work: Promise<T>,
    { signal }: Abortable = {},
    hasInputFailed = () => false,
  ): Promise<T> =>
    work.catch((error: unknown) => {
      const isFailure = !signal?.aborted && !hasInputFailed() && !(error instanceof BlobNotFound)
      if (isFailure) onError(operation)
      throw error
    })

  const watched: BlobStore = {
    async put(key, bytes, options) {
      let hasInputFailed = false
      async function* input(): AsyncGenerator<Uint8Array> {
        try {
          yield* bytes
        } catch (error) {
          hasInputFailed = true
          throw error
        }
      }
      await watch('put', blobs.put(key, input(), options), options, () => hasInputFailed)
    },
    async open(key, range, options) {
      const opened = await watch('open', blobs.open(key, range, options), options)
      return opened.once('error', () => {
        if (!options?.signal?.aborted) onError('read')
      })
    },
    size: (key) => watch('size', blobs.size(key)),
    delete: (key) => watch('delete', blobs.delete(key)),
    async *list() {
      try {
        yield* blobs.list()
      } catch (error) {
        onError('list')
        throw error
      }
    },
    sweepUnfinished: (olderThanMs) => watch('sweep', blobs.sweepUnfinished(olderThanMs)),
    // `watch` does not get the signal: an aborted probe is a failure, because the store did not respond in time.
    probe: (options) => watch('probe', blobs.probe(options)),
  }
  if (isOnDisk(blobs))
    return Object.assign(watched, {
      async openFile(key) {
        const file = await watch('open', blobs.openFile(key))
        return { ...file, read: (into, at) => watch('read', file.read(into, at)) }
      },
    } satisfies DiskStore)
  if (isComposing(blobs))
    return Object.assign(watched, {
      compose: (key, parts, options) =>
        watch('compose', blobs.compose(key, parts, options), options),
      presign: blobs.presign,
    } satisfies ComposingStore)
  return watched
}
