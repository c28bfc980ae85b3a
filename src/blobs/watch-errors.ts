import {
  type Abortable,
  type BlobStore,
  type Bytes,
  type Composing,
  isComposing,
  isOnDisk,
  type OnDisk,
} from './blob-store.ts'

/** The operation that failed. `read` fails after a successful `open`. */
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
 * Wraps a store so that `onError` is called for each of its failures. Operations that the caller aborted, and errors of the
 * bytes that the caller passed, do not count.
 */
export function watchErrors(blobs: BlobStore, onError: OnError): BlobStore {
  const watched = watchStore(blobs, onError)
  if (isOnDisk(blobs)) return Object.assign(watched, watchOpenFile(blobs, onError))
  if (isComposing(blobs)) return Object.assign(watched, watchComposing(blobs, onError))
  return watched
}

async function watch<T>(
  onError: OnError,
  operation: BlobOperation,
  work: Promise<T>,
  { signal }: Abortable = {},
  hasCallerFailed = () => false,
): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!signal?.aborted && !hasCallerFailed()) onError(operation)
    throw error
  }
}

function watchStore(blobs: BlobStore, onError: OnError): BlobStore {
  return {
    async put(key, bytes, options) {
      const given = watchBytes(bytes)
      const put = blobs.put(key, given.bytes, options)
      await watch(onError, 'put', put, options, given.haveFailed)
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
    // An aborted probe counts as an error: the caller has waited too long.
    probe: (options) => watch(onError, 'probe', blobs.probe(options)),
  }
}

function watchOpenFile(blobs: OnDisk, onError: OnError): OnDisk {
  return {
    async openFile(key) {
      const file = await watch(onError, 'open', blobs.openFile(key))
      return { ...file, read: (into, at) => watch(onError, 'read', file.read(into, at)) }
    },
  }
}

function watchComposing(blobs: Composing, onError: OnError): Composing {
  return {
    compose: (key, parts, options) =>
      watch(onError, 'compose', blobs.compose(key, parts, options), options),
    presign: blobs.presign,
  }
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
