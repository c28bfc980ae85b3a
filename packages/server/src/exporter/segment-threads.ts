import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { Unreadable } from '@godwit/git/unreadable'
import { BlobsUnavailable } from '../blobs/blob-store.ts'
import type { BlobOperation } from '../blobs/watch-errors.ts'
import type {
  MakeResult,
  PlainError,
  SegmentMaker,
  SegmentProgress,
  SegmentReply,
  SegmentRequest,
} from './make-segment.ts'

interface ThreadOptions {
  /** The module that each thread runs. It must call serveSegmentRequests. */
  module: URL
  workerData: unknown
  count: number
  /** How long a thread waits for its next request before it ends and returns its memory. */
  idleMs?: number
  /** Called for each error of the blob store in a thread. */
  onBlobError?: (operation: BlobOperation) => void
}

/** Makes segments on worker threads, because hashing and deflating would block the thread that handles requests. */
export function createSegmentThreads(
  options: ThreadOptions,
): SegmentMaker & { stop(): Promise<void> } {
  const threads = Array.from({ length: options.count }, () => new SegmentThread(options))
  const leastLoaded = () => threads.reduce((a, b) => (b.load < a.load ? b : a))
  return {
    examine: (argument, signal) => leastLoaded().send({ call: 'examine', argument }, signal),
    make: (argument, signal, onProgress) =>
      leastLoaded().send<MakeResult>({ call: 'make', argument }, signal, onProgress),
    digest: (argument, signal) => leastLoaded().send({ call: 'digest', argument }, signal),
    async stop() {
      await Promise.all(threads.map((thread) => thread.stop()))
    },
  }
}

/** Segments need little heap: their bytes are in buffers. Without limits, V8 would let garbage grow with the memory of the machine. */
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: 512 }

const IDLE_MS = 60_000

interface PendingRequest {
  resolve(value: unknown): void
  reject(error: Error): void
  onProgress: (progress: SegmentProgress) => void
}

class SegmentThread {
  readonly #options: ThreadOptions
  readonly #pending = new Map<number, PendingRequest>()
  #worker: Worker | undefined
  #idle: NodeJS.Timeout | undefined
  #lastId = 0

  constructor(options: ThreadOptions) {
    this.#options = options
  }

  get load(): number {
    return this.#pending.size
  }

  async send<T>(
    call: WithoutId<Exclude<SegmentRequest, { call: 'abort' }>>,
    signal: AbortSignal,
    onProgress: PendingRequest['onProgress'] = () => {},
  ): Promise<T> {
    signal.throwIfAborted()
    clearTimeout(this.#idle)
    // Starts the worker for the first request, and again after a pause or a crash.
    this.#worker ??= this.#start()
    const worker = this.#worker
    const id = ++this.#lastId
    const { promise, ...settle } = Promise.withResolvers<unknown>()
    const abort = () => worker.postMessage({ id, call: 'abort' } satisfies SegmentRequest)
    this.#pending.set(id, { ...settle, onProgress })
    signal.addEventListener('abort', abort, { once: true })
    worker.postMessage({ id, ...call } satisfies SegmentRequest)
    return promise.finally(() => signal.removeEventListener('abort', abort)) as Promise<T>
  }

  async stop(): Promise<void> {
    clearTimeout(this.#idle)
    const worker = this.#worker
    if (worker) this.#onEnd(worker, new Error('the segment thread was stopped'))
    await worker?.terminate()
  }

  #start(): Worker {
    const { module, workerData } = this.#options
    // bin/godwit sets this flag for the main thread, whose heap exists already. For a new thread it would override RESOURCE_LIMITS.
    setFlagsFromString('--max-semi-space-size=0')
    const worker = new Worker(module, { workerData, resourceLimits: RESOURCE_LIMITS })
    worker.unref()
    worker.on('message', (reply: SegmentReply) => this.#onReply(reply))
    worker.on('error', (error: Error) => this.#onEnd(worker, error))
    worker.on('exit', () => this.#onEnd(worker, new Error('a segment thread ended unexpectedly')))
    return worker
  }

  #onReply(reply: SegmentReply) {
    if ('blobError' in reply) return this.#options.onBlobError?.(reply.blobError)
    const pending = this.#pending.get(reply.id)
    if ('progress' in reply) return pending?.onProgress(reply.progress)
    this.#pending.delete(reply.id)
    if (this.load === 0) {
      clearTimeout(this.#idle)
      this.#idle = setTimeout(() => this.stop(), this.#options.idleMs ?? IDLE_MS).unref()
    }
    if ('value' in reply) pending?.resolve(reply.value)
    else pending?.reject(errorOf(reply.error))
  }

  /** Called for an error and for the exit that follows it, when another worker may already be running. */
  #onEnd(ended: Worker, error: Error): void {
    if (this.#worker !== ended) return
    this.#worker = undefined
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
  }
}

type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never

/** Restores the classes that callers distinguish. */
function errorOf({ kind, message, fields }: PlainError): Error {
  if (kind === 'unreadable') return new Unreadable(message)
  if (kind === 'blobs-unavailable') return new BlobsUnavailable(message)
  return Object.assign(new Error(message), fields)
}
