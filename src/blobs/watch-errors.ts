import type { Readable } from 'node:stream'
import {
  type Abortable,
  type BlobStore,
  type Bytes,
  isComposing,
  isOnDisk,
  type OnDisk,
} from './blob-store.ts'

/** What can go wrong at a store; a blob that was opened may still break while it is read. */
export type BlobOperation =
  | 'put'
  | 'open'
  | 'read'
  | 'size'
  | 'delete'
  | 'list'
  | 'sweep'
  | 'probe'
  | 'compose'

/**
 * The same store, with every failure of its own told: not what its caller called off, nor what the bytes that it was to
 * store threw.
 */
export function watchErrors(
  blobs: BlobStore,
  onError: (operation: BlobOperation) => void,
): BlobStore {
  async function watch<T>(
    operation: BlobOperation,
    work: Promise<T>,
    { signal }: Abortable = {},
    isCallers = () => false,
  ): Promise<T> {
    try {
      return await work
    } catch (error) {
      if (!signal?.aborted && !isCallers()) onError(operation)
      throw error
    }
  }

  function watchReading(stream: Readable, { signal }: Abortable = {}): Readable {
    return stream.once('error', () => {
      if (!signal?.aborted) onError('read')
    })
  }

  const watched: BlobStore = {
    async put(key, bytes, options) {
      const given = watchBytes(bytes)
      await watch('put', blobs.put(key, given.bytes, options), options, given.haveFailed)
    },
    async open(key, range, options) {
      const opened = await watch('open', blobs.open(key, range, options), options)
      return watchReading(opened, options)
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
    // Who calls this off has waited for too long.
    probe: (options) => watch('probe', blobs.probe(options)),
  }
  if (isOnDisk(blobs)) {
    const openFile: OnDisk['openFile'] = async (key) => {
      const file = await watch('open', blobs.openFile(key))
      return { ...file, read: (into, at) => watch('read', file.read(into, at)) }
    }
    return Object.assign(watched, { openFile })
  }
  if (!isComposing(blobs)) return watched
  return Object.assign(watched, {
    compose: ((key, parts, options) =>
      watch('compose', blobs.compose(key, parts, options), options)) as typeof blobs.compose,
    presign: blobs.presign,
  })
}

function watchBytes(bytes: Bytes) {
  let isFailed = false
  async function* through(): AsyncGenerator<Uint8Array> {
    try {
      yield* bytes
    } catch (error) {
      isFailed = true
      throw error
    }
  }
  return { bytes: through(), haveFailed: () => isFailed }
}
