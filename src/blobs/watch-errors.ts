import {
  type Abortable,
  type BlobStore,
  type Bytes,
  type Composing,
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

type OnError = (operation: BlobOperation) => void

/**
 * The same store, with every failure of its own told: not what its caller called off, nor what the bytes that it was to
 * store threw.
 */
export function watchErrors(blobs: BlobStore, onError: OnError): BlobStore {
  const watched = watchStore(blobs, onError)
  if (isOnDisk(blobs)) return Object.assign(watched, watchFiles(blobs, onError))
  if (isComposing(blobs)) return Object.assign(watched, watchComposing(blobs, onError))
  return watched
}

async function watch<T>(
  onError: OnError,
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
    // Who calls this off has waited for too long.
    probe: (options) => watch(onError, 'probe', blobs.probe(options)),
  }
}

function watchFiles(blobs: OnDisk, onError: OnError): OnDisk {
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
