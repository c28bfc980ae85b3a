import type { MessagePort } from 'node:worker_threads'
import { BlobsAway } from '../blobs/blob-store.ts'
import type { BlobOperation } from '../blobs/watch-errors.ts'
import { Unreadable } from '../sources/unreadable.ts'
import type { SegmentMaker } from './segment-maker.ts'

/** What the two sides of a segment thread say to each other. */
export type Request =
  | { id: number; call: 'look'; argument: Parameters<SegmentMaker['look']>[0] }
  | { id: number; call: 'make'; argument: Parameters<SegmentMaker['make']>[0] }
  | { id: number; call: 'abort' }

/** Said by a thread unasked. */
export interface Notice {
  blobError: BlobOperation
}

export type Answer =
  | { id: number; bytes: number }
  | { id: number; value: unknown }
  | { id: number; unreadable: string }
  | { id: number; blobsAway: string }
  | { id: number; error: { message: string; stack: string | undefined } }

/** The thread's side: does what it is asked, each request abortable. */
export function answerRequests(port: MessagePort, maker: SegmentMaker): void {
  const underWay = new Map<number, AbortController>()
  port.on('message', async (request: Request) => {
    const { id } = request
    if (request.call === 'abort') return underWay.get(id)?.abort()
    const stopping = new AbortController()
    underWay.set(id, stopping)
    const { signal } = stopping
    const value =
      request.call === 'make'
        ? maker.make(request.argument, signal, (bytes) => port.postMessage({ id, bytes }))
        : maker.look(request.argument, signal)
    port.postMessage(await value.then((made): Answer => ({ id, value: made }), asAnswer(id)))
    underWay.delete(id)
  })
}

/** Errors lose their class on the way, so what matters of it is said in words. */
function asAnswer(id: number): (error: unknown) => Answer {
  return (error) => {
    if (error instanceof Unreadable) return { id, unreadable: error.message }
    if (error instanceof BlobsAway) return { id, blobsAway: error.message }
    const { message, stack } = error as Error
    return { id, error: { message, stack } }
  }
}

export interface Asked {
  resolve(value: unknown): void
  reject(error: Error): void
  onBytes: ((bytes: number) => void) | undefined
}

/** The other side: true when that was the last word. */
export function settle(answer: Answer, { resolve, reject, onBytes }: Asked): boolean {
  if ('bytes' in answer) {
    onBytes?.(answer.bytes)
    return false
  }
  if ('value' in answer) resolve(answer.value)
  else if ('unreadable' in answer) reject(new Unreadable(answer.unreadable))
  else if ('blobsAway' in answer) reject(new BlobsAway(answer.blobsAway))
  else reject(Object.assign(new Error(answer.error.message), { stack: answer.error.stack }))
  return true
}
