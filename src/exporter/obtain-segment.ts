import { randomUUID } from 'node:crypto'
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
  SegmentFailure,
  SegmentMaker,
  SegmentProgress,
  SegmentReply,
  SegmentRequest,
} from './make-segment.ts'

export interface ObtainParts extends ReuseParts {
  segments: SegmentMaker
}

export interface Obtained {
  segmentKey: string
  /** The repository was exported before and has not changed since. */
  reused: boolean
  bytes: number
}

export interface ObtainOrder<T> {
  facts: RepositoryFacts
  /** Runs `work` in a transaction. */
  transact(work: (tx: Db) => Promise<T>): Promise<T>
  /** Records the result in the transaction that takes the segment into use. */
  onEnd(tx: Db, obtained: Obtained): Promise<T>
  /** Called while a new segment is made. */
  onProgress?(progress: SegmentProgress): void
}

/**
 * Finds the segment of a repository as it is now, or makes it. The repository is examined once: the thread that examines it
 * gets the fingerprints of its stored segments. Bytes are written first, then the row.
 */
export async function obtainSegment<T>(
  parts: ObtainParts,
  order: ObtainOrder<T>,
  signal: AbortSignal,
): Promise<T> {
  const { id, owner, name } = order.facts
  // A stored segment that turns out to be damaged is no longer listed, so a second pass makes a new one.
  for (;;) {
    const { segment, fingerprint, bytes } = await parts.segments.make(
      {
        repository: { owner: owner.login, name },
        key: randomUUID(),
        lastVerified: await lastVerified(parts.db, id),
        storedFingerprints: await fingerprintsOf(parts.db, id),
      },
      signal,
      (progress) => order.onProgress?.(progress),
    )
    // Called for a new segment as well: a damaged one with the same fingerprint, perhaps of a former repository, must make way.
    const segmentKey = await findReusable(parts, segment?.fingerprint ?? fingerprint, signal)
    if (segment) return record(parts, order, segment, bytes)
    if (segmentKey !== undefined) return reuse(parts, order, { segmentKey, bytes })
  }
}

function reuse<T>(
  { now }: ObtainParts,
  { transact, onEnd }: ObtainOrder<T>,
  { segmentKey, bytes }: Omit<Obtained, 'reused'>,
): Promise<T> {
  return transact(async (tx) => {
    const named = await markSegmentsUsed(tx, [segmentKey], now())
    if (!named.has(segmentKey)) throw new Error('the segment was swept or is damaged')
    return onEnd(tx, { segmentKey, reused: true, bytes })
  })
}

/** If another export was first to record a segment with this fingerprint, uses that one and deletes the new blob. */
async function record<T>(
  { blobs, now }: ObtainParts,
  { facts, transact, onEnd }: ObtainOrder<T>,
  made: MadeSegment,
  bytes: number,
): Promise<T> {
  let segmentKey = made.key
  const ended = await transact(async (tx) => {
    segmentKey = await insertSegment(tx, { ...made, repositoryId: facts.id }, now())
    return onEnd(tx, { segmentKey, reused: false, bytes })
  })
  if (segmentKey !== made.key) await blobs.delete(made.key)
  return ended
}

export interface SegmentThreads extends SegmentMaker {
  stop(): Promise<void>
}

export interface ThreadOptions {
  /** The module that each thread runs. It must call serveSegmentRequests. */
  module: URL
  workerData: unknown
  count: number
  /** Called for each error of the blob store in a thread. */
  onBlobError?: (operation: BlobOperation) => void
}

/** Makes segments on worker threads, because hashing and deflating would block the thread that answers requests. */
export function createSegmentThreads(options: ThreadOptions): SegmentThreads {
  const threads = Array.from({ length: options.count }, () => new SegmentThread(options))
  // The queue runs no more jobs than there are threads, so one of them is always idle.
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

/** Bytes go through buffers outside the heap. Without limits, the garbage of each thread would grow with the memory of the machine. */
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 512 }

interface PendingRequest {
  resolve(value: unknown): void
  reject(error: Error): void
  onProgress: (progress: SegmentProgress) => void
}

class SegmentThread {
  readonly #options: ThreadOptions
  readonly #pending = new Map<number, PendingRequest>()
  #worker: Worker | undefined
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
    // Started when first needed, and again after a crash.
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
    await this.#worker?.terminate()
  }

  #start(): Worker {
    const { module, workerData } = this.#options
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
    if ('value' in reply) pending?.resolve(reply.value)
    else pending?.reject(errorOf(reply))
  }

  /** An error is followed by an exit, and by then another worker may be running. */
  #onEnd(ended: Worker, error: Error): void {
    if (this.#worker !== ended) return
    this.#worker = undefined
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
  }
}

type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never

function errorOf(failure: SegmentFailure): Error {
  if ('unreadable' in failure) return new Unreadable(failure.unreadable)
  if ('blobsUnavailable' in failure) return new BlobsUnavailable(failure.blobsUnavailable)
  return Object.assign(new Error(failure.error.message), failure.error)
}
