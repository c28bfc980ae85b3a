import { Worker } from 'node:worker_threads'
import type { BlobOperation } from '../blobs/watch-errors.ts'
import type { SegmentMaker, SegmentObserver } from './segment-maker.ts'
import {
  type Answer,
  handleReply,
  type Notice,
  type PendingRequest,
  type Request,
} from './segment-messages.ts'

export interface SegmentThreads extends SegmentMaker {
  stop(): Promise<void>
}

export interface ThreadOptions {
  /** The module that a thread runs, and what it is given to build its parts from. */
  module: URL
  workerData: unknown
  count: number
  /** Told of every failure at the store that the threads write to. */
  onBlobError?: (operation: BlobOperation) => void
}

/** Hashing and deflating happen on threads of their own: the one that answers requests only waits. */
export function createSegmentThreads(options: ThreadOptions): SegmentThreads {
  const threads = Array.from({ length: options.count }, () => segmentThread(options))
  // The queue hands out no more jobs than there are threads, so there is always one with nothing to do.
  const idlest = () => threads.reduce((a, b) => (b.load() < a.load() ? b : a))
  return {
    look: (repository, signal) =>
      idlest().ask('look', repository, signal) as ReturnType<SegmentMaker['look']>,
    make: (order, signal, watch) =>
      idlest().ask('make', order, signal, watch) as ReturnType<SegmentMaker['make']>,
    digest: (key, signal) =>
      idlest().ask('digest', key, signal) as ReturnType<SegmentMaker['digest']>,
    async stop() {
      await Promise.all(threads.map((thread) => thread.stop()))
    },
  }
}

/** Bytes go through buffers outside the heap; without a limit, each thread's garbage would grow as large as it likes. */
const SMALL_HEAP = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 512 }

function segmentThread({ module, workerData, onBlobError }: ThreadOptions) {
  const waiting = new Map<number, PendingRequest>()
  let worker: Worker | undefined
  let lastId = 0

  /** Started when first needed, and anew after a crash. */
  function start(): Worker {
    const started = new Worker(module, { workerData, resourceLimits: SMALL_HEAP })
    started.unref()
    started.on('message', (answer: Answer | Notice) => {
      if ('blobError' in answer) return onBlobError?.(answer.blobError)
      const asked = waiting.get(answer.id)
      if (asked && handleReply(answer, asked)) waiting.delete(answer.id)
    })
    started.on('error', (error: Error) => end(started, error))
    started.on('exit', () => end(started, new Error('a segment thread ended unexpectedly')))
    return started
  }

  /** An error is followed by the exit; by then another worker may be at work. */
  function end(ended: Worker, error: Error): void {
    if (worker !== ended) return
    worker = undefined
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }

  return {
    load: () => waiting.size,

    ask(
      call: 'look' | 'make' | 'digest',
      argument: unknown,
      signal: AbortSignal,
      watch?: SegmentObserver,
    ): Promise<unknown> {
      signal.throwIfAborted()
      worker ??= start()
      const to = worker
      const id = ++lastId
      const asked = Promise.withResolvers<unknown>()
      const tell = (request: Request) => to.postMessage(request)
      const abort = () => tell({ id, call: 'abort' })
      const decide = (isNeeded: boolean) => tell({ id, call: 'decide', isNeeded })
      waiting.set(id, { ...asked, watch, decide, abort })
      signal.addEventListener('abort', abort, { once: true })
      to.postMessage({ id, call, argument })
      return asked.promise.finally(() => signal.removeEventListener('abort', abort))
    },

    async stop() {
      await worker?.terminate()
    },
  }
}
