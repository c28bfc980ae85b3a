import type { MessagePort } from 'node:worker_threads'
import { BlobsUnavailable } from '../blobs/blob-store.ts'
import type { BlobOperation } from '../blobs/watch-errors.ts'
import { Unreadable } from '../sources/unreadable.ts'
import type { Inspection, SegmentMaker, SegmentObserver } from './segment-maker.ts'

/** What the two sides of a segment thread say to each other. */
export type Request =
  | { id: number; call: 'look'; argument: Parameters<SegmentMaker['look']>[0] }
  | { id: number; call: 'make'; argument: Parameters<SegmentMaker['make']>[0] }
  | { id: number; call: 'digest'; argument: Parameters<SegmentMaker['digest']>[0] }
  | { id: number; call: 'decide'; isNeeded: boolean }
  | { id: number; call: 'abort' }

/** Said by a thread unasked. */
export interface Notice {
  blobError: BlobOperation
}

export type Answer =
  | { id: number; bytes: number }
  | { id: number; look: Inspection }
  | { id: number; value: unknown }
  | { id: number; unreadable: string }
  | { id: number; blobsAway: string }
  | { id: number; error: PlainError }

/** The message, the stack, and whatever else the error says in plain values, such as its code. */
type PlainError = Record<string, string | number> & { message: string }

/** The thread's side: does what it is asked, each request abortable. */
export function serveRequests(port: MessagePort, maker: SegmentMaker): void {
  const underWay = new Map<number, AbortController>()
  const undecided = new Map<number, (isNeeded: boolean) => void>()
  port.on('message', async (request: Request) => {
    const { id } = request
    if (request.call === 'abort') return underWay.get(id)?.abort()
    if (request.call === 'decide') return undecided.get(id)?.(request.isNeeded)
    const stopping = new AbortController()
    underWay.set(id, stopping)
    const { signal } = stopping
    const value =
      request.call === 'make'
        ? maker.make(request.argument, signal, {
            isNeeded(look) {
              if (signal.aborted) return Promise.reject(signal.reason)
              const { promise, resolve, reject } = Promise.withResolvers<boolean>()
              undecided.set(id, resolve)
              signal.addEventListener('abort', () => reject(signal.reason), { once: true })
              port.postMessage({ id, look } satisfies Answer)
              return promise
            },
            onBytes: (bytes) => port.postMessage({ id, bytes } satisfies Answer),
          })
        : request.call === 'digest'
          ? maker.digest(request.argument, signal)
          : maker.look(request.argument, signal)
    port.postMessage(await value.then((made): Answer => ({ id, value: made }), asAnswer(id)))
    underWay.delete(id)
    undecided.delete(id)
  })
}

/** Errors lose their class on the way, so what matters of it is said in words. */
function asAnswer(id: number): (error: unknown) => Answer {
  return (error) => {
    if (error instanceof Unreadable) return { id, unreadable: error.message }
    if (error instanceof BlobsUnavailable) return { id, blobsAway: error.message }
    return { id, error: plainError(error as Error) }
  }
}

function plainError(error: Error): PlainError {
  const { name, message, stack = '' } = error
  const isPlain = ([, value]: [string, unknown]) =>
    typeof value === 'string' || typeof value === 'number'
  return { ...Object.fromEntries(Object.entries(error).filter(isPlain)), name, message, stack }
}

export interface PendingRequest {
  resolve(value: unknown): void
  reject(error: Error): void
  watch: SegmentObserver | undefined
  /** Tells the thread whether to go on. */
  decide(isNeeded: boolean): void
  abort(): void
}

/** The other side: true when that was the last word. */
export function handleReply(answer: Answer, asked: PendingRequest): boolean {
  const { resolve, reject, watch } = asked
  if ('bytes' in answer) {
    watch?.onBytes(answer.bytes)
    return false
  }
  if ('look' in answer) {
    watch?.isNeeded(answer.look).then(asked.decide, (error: Error) => {
      reject(error)
      asked.abort()
    })
    return false
  }
  if ('value' in answer) resolve(answer.value)
  else if ('unreadable' in answer) reject(new Unreadable(answer.unreadable))
  else if ('blobsAway' in answer) reject(new BlobsUnavailable(answer.blobsAway))
  else reject(Object.assign(new Error(answer.error.message), answer.error))
  return true
}
