import { Worker } from 'node:worker_threads'
import type { SegmentMaker } from './segment-maker.ts'
import { type Answer, type Request, settle } from './segment-messages.ts'

export interface SegmentThreads extends SegmentMaker {
  stop(): Promise<void>
}

export interface ThreadOptions {
  /** The module that a thread runs, and what it is given to build its parts from. */
  module: URL
  workerData: unknown
  count: number
}

/** Hashing and deflating happen on threads of their own: the one that answers requests only waits. */
export function createSegmentThreads({ module, workerData, count }: ThreadOptions): SegmentThreads {
  const threads = Array.from({ length: count }, () => segmentThread(module, workerData))
  // The queue hands out no more jobs than there are threads, so there is always one with nothing to do.
  const idlest = () => threads.reduce((a, b) => (b.load() < a.load() ? b : a))
  return {
    fingerprint: (repository, signal) =>
      idlest().ask('fingerprint', repository, signal) as ReturnType<SegmentMaker['fingerprint']>,
    make: (order, signal) =>
      idlest().ask('make', order, signal) as ReturnType<SegmentMaker['make']>,
    async stop() {
      await Promise.all(threads.map((thread) => thread.stop()))
    },
  }
}

function segmentThread(module: URL, workerData: unknown) {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let worker: Worker | undefined
  let lastId = 0

  /** Started when first needed, and anew after a crash. */
  function start(): Worker {
    const started = new Worker(module, { workerData })
    started.unref()
    started.on('message', (answer: Answer) => {
      const asked = waiting.get(answer.id)
      waiting.delete(answer.id)
      if (asked) settle(answer, asked)
    })
    started.on('error', (error: Error) => end(error))
    started.on('exit', () => end(new Error('a segment thread ended unexpectedly')))
    return started
  }

  function end(error: Error): void {
    worker = undefined
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }

  return {
    load: () => waiting.size,

    ask(call: 'fingerprint' | 'make', argument: unknown, signal: AbortSignal): Promise<unknown> {
      signal.throwIfAborted()
      worker ??= start()
      const to = worker
      const id = ++lastId
      const asked = Promise.withResolvers<unknown>()
      waiting.set(id, asked)
      const abort = () => to.postMessage({ id, call: 'abort' } satisfies Request)
      signal.addEventListener('abort', abort, { once: true })
      to.postMessage({ id, call, argument })
      return asked.promise.finally(() => signal.removeEventListener('abort', abort))
    },

    async stop() {
      await worker?.terminate()
    },
  }
}
