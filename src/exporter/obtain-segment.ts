import { randomUUID } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { BlobsUnavailable } from '../blobs/blob-store.ts'
import type { BlobOperation } from '../blobs/watch-errors.ts'
import type { Db } from '../db/database.ts'
import {
  fingerprintsOf,
  insertSegment,
  lastVerified,
  markSegmentsUsed,
} from '../migrations/segment-store.ts'
import type { RepositoryFacts } from '../repositories/facts.ts'
import { Unreadable } from '../sources/unreadable.ts'
import { findReusable, type ReuseParts } from './check-segments.ts'
import type {
  MadeSegment,
  MakeResult,
  PlainError,
  SegmentMaker,
  SegmentProgress,
  SegmentReply,
  SegmentRequest,
} from './make-segment.ts'

interface ObtainParts extends ReuseParts {
  segments: SegmentMaker
}

export interface Obtained {
  segmentKey: string
  /** Whether the repository was exported before and has not changed since. */
  reused: boolean
  bytes: number
}

interface ObtainOptions<T> {
  facts: RepositoryFacts
  /** Runs `work` in a transaction. */
  transact(work: (tx: Db) => Promise<T>): Promise<T>
  /** Records the result in the transaction that takes the segment into use. */
  onObtained(tx: Db, obtained: Obtained): Promise<T>
  /** Called while a new segment is made. */
  onProgress?(progress: SegmentProgress): void
}

/**
 * Finds the segment of a repository in its current state, or makes it. The thread that examines the repository gets the
 * fingerprints of its stored segments, so that it need not be examined twice. Bytes are written first, then the row.
 */
export async function obtainSegment<T>(
  parts: ObtainParts,
  options: ObtainOptions<T>,
  signal: AbortSignal,
): Promise<T> {
  const { id, owner, name } = options.facts
  // A stored segment that turns out to be damaged is no longer listed, so a second pass makes a new one.
  for (;;) {
    const { segment, fingerprint, bytes } = await parts.segments.make(
      {
        repository: { owner: owner.login, name },
        key: randomUUID(),
        lastVerified: await lastVerified(parts.db, id),
        storedFingerprints: await fingerprintsOf(parts.db, [id]),
      },
      signal,
      (progress) => options.onProgress?.(progress),
    )
    // Called for a new segment as well: it records a damaged segment with the same fingerprint, perhaps of a deleted repository, as
    // damaged. Otherwise `insertSegment` would return that one instead of inserting the new one.
    const segmentKey = await findReusable(parts, segment?.fingerprint ?? fingerprint, signal)
    if (segment) return record(parts, options, segment, bytes)
    if (segmentKey !== undefined) return reuse(parts, options, { segmentKey, bytes })
  }
}

function reuse<T>(
  { now }: ObtainParts,
  { transact, onObtained }: ObtainOptions<T>,
  { segmentKey, bytes }: Omit<Obtained, 'reused'>,
): Promise<T> {
  return transact(async (tx) => {
    const used = await markSegmentsUsed(tx, [segmentKey], now())
    if (!used.has(segmentKey)) throw new Error('the segment was swept or is damaged')
    return onObtained(tx, { segmentKey, reused: true, bytes })
  })
}

/** If another export was first to record a segment with this fingerprint, uses that one and deletes the new blob. */
async function record<T>(
  { blobs, now }: ObtainParts,
  { facts, transact, onObtained }: ObtainOptions<T>,
  made: MadeSegment,
  bytes: number,
): Promise<T> {
  let segmentKey = made.key
  const ended = await transact(async (tx) => {
    segmentKey = await insertSegment(tx, { ...made, repositoryId: facts.id }, now())
    return onObtained(tx, { segmentKey, reused: false, bytes })
  })
  if (segmentKey !== made.key) await blobs.delete(made.key)
  return ended
}

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
  const idlest = () => threads.reduce((a, b) => (b.load < a.load ? b : a))
  return {
    inspect: (argument, signal) => idlest().send({ call: 'inspect', argument }, signal),
    make: (argument, signal, onProgress) =>
      idlest().send<MakeResult>({ call: 'make', argument }, signal, onProgress),
    digest: (argument, signal) => idlest().send({ call: 'digest', argument }, signal),
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
