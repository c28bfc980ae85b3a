import {
  type Abortable,
  type BlobStore,
  type Bytes,
  type ComposingStore,
  type DiskStore,
  isComposing,
  isOnDisk,
} from './blob-store.ts'

/** The operation that failed. `read` means that a blob was opened, but could not be read to its end. */
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

type OnError = (operation: BlobOperation) => void

/**
 * Wraps a store so that `onError` is called for each of its failures. Operations that the caller aborted, and errors thrown
 * by the bytes that the caller passed, are not failures of the store.
 */
export function watchErrors(blobs: BlobStore, onError: OnError): BlobStore {
  const watched = watchStore(blobs, onError)
  if (isOnDisk(blobs)) return Object.assign(watched, watchOnDisk(blobs, onError))
  if (isComposing(blobs)) return Object.assign(watched, watchComposing(blobs, onError))
  return watched
}

async function watch<T>(
  onError: OnError,
  operation: BlobOperation,
  work: Promise<T>,
  { signal }: Abortable = {},
  hasInputFailed = () => false,
): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!signal?.aborted && !hasInputFailed()) onError(operation)
    throw error
  }
}

function watchStore(blobs: BlobStore, onError: OnError): BlobStore {
  return {
    async put(key, bytes, options) {
      const input = watchBytes(bytes)
      const put = blobs.put(key, input.bytes, options)
      await watch(onError, 'put', put, options, input.hasFailed)
    },
    async open(key, range, options) {
      const opened = await watch(onError, 'open', blobs.open(key, range, options), options)
      return opened.once('error', () => {
        if (!options?.signal?.aborted) onError('read')
      })
    },
    size: (key) => watch(onError, 'size', blobs.size(key)),
    delete: (key) => watch(onError, 'delete', blobs.delete(key)),
    async *list() {
      try {
        yield* blobs.list()
      } catch (error) {
        onError('list')
        throw error
      }
    },
    sweepUnfinished: (olderThanMs) => watch(onError, 'sweep', blobs.sweepUnfinished(olderThanMs)),
    // `watch` does not get the signal: an aborted probe is a failure, because the store did not answer in time.
    probe: (options) => watch(onError, 'probe', blobs.probe(options)),
  }
}

function watchOnDisk(blobs: DiskStore, onError: OnError): DiskStore {
  return {
    async openFile(key) {
      const file = await watch(onError, 'open', blobs.openFile(key))
      return {
        ...file,
        read: (buffer, position) => watch(onError, 'read', file.read(buffer, position)),
      }
    },
  }
}

function watchComposing(blobs: ComposingStore, onError: OnError): ComposingStore {
  return {
    compose: (key, parts, options) =>
      watch(onError, 'compose', blobs.compose(key, parts, options), options),
    presign: blobs.presign,
  }
}

/** Returns the same bytes, and whether reading them failed. */
function watchBytes(bytes: Bytes) {
  let failed = false
  async function* passThrough(): AsyncGenerator<Uint8Array> {
    try {
      yield* bytes
    } catch (error) {
      failed = true
      throw error
    }
  }
  return { bytes: passThrough(), hasFailed: () => failed }
}
