import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { setImmediate as nextEventLoopTurn } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import { type Admission, CallerCounts } from './concurrency-limit.ts'
import { HttpError, overloaded, requestTimeout, tooManyRequests } from './http-errors.ts'
import { callerKey } from './request.ts'
import { ClientDisconnected } from './response-stream.ts'

const MIB = 1024 * 1024
/** The first bytes of every body are not counted. Most bodies are smaller, so the limits never affect them. */
const UNCOUNTED_BYTES = MIB / 16
/** Counted bytes of all bodies together. */
const MAX_BYTES = 128 * MIB
const MAX_BYTES_PER_ACCOUNT = 32 * MIB
const MAX_BYTES_PER_ADDRESS = 16 * MIB
/** Counted bytes of all requests without a token together. */
const MAX_ANONYMOUS_BYTES = 32 * MIB
/** The rest of a body that is too large is discarded up to this size and for this time, without holding it in memory. */
const MAX_DISCARDED_BYTES = 20 * MIB
const MAX_DISCARD_MS = 5000

/** A body that was received completely. */
export interface ReceivedBody {
  bytes: Buffer
  /** Must be called once the bytes are no longer referenced. */
  release(): void
}

interface BodyOptions {
  /** The maximum size of the body after decompression. */
  maxBytes: number
  tooLarge: () => Error
  /** Whether `content-encoding: gzip` is decompressed. */
  acceptsGzip?: boolean
}

export type ReadBody = (request: FastifyRequest, options: BodyOptions) => Promise<ReceivedBody>

/**
 * Reads bodies within limits per account, per address and in total. A body that has arrived is read at once. While one is still
 * being sent, it is counted by `admission.receive`, and rejected if nothing arrives for `stallMs`. After an error the stream is not
 * destroyed: that would cut off the response as well. For the same reason, the rest of a body that is too large is discarded first.
 */
export function bodyReader(admission: Pick<Admission, 'receive'>, stallMs: number): ReadBody {
  const heldBytes = new CallerCounts()
  let anonymousBytes = 0

  return async (request, { maxBytes, tooLarge, acceptsGzip = false }) => {
    const { raw, viewer } = request
    const caller = callerKey(request)
    const chunks: Buffer[] = []
    let size = 0
    let counted = 0
    const count = (bytes: number) => {
      counted += bytes
      heldBytes.add(caller, bytes)
      if (!viewer) anonymousBytes += bytes
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) throw tooLarge()
      chunks.push(chunk)
      count(Math.max(0, size - UNCOUNTED_BYTES) - counted)
      if (counted === 0) return
      if (heldBytes.of(caller) > (viewer ? MAX_BYTES_PER_ACCOUNT : MAX_BYTES_PER_ADDRESS))
        throw tooManyRequests()
      if (heldBytes.total() > MAX_BYTES || anonymousBytes > MAX_ANONYMOUS_BYTES) throw overloaded()
    }
    const release = () => count(-counted)
    try {
      if (Number(raw.headers['content-length']) > maxBytes) throw tooLarge()
      // A small body often arrives with its headers: after one turn of the event loop Node knows that it is complete.
      if (!raw.complete) await nextEventLoopTurn()
      if (raw.destroyed) throw new ClientDisconnected()
      const source = acceptsGzip ? decompress(raw) : raw
      if (raw.complete) await readChunks(raw, source, take)
      else {
        using _ = admission.receive(caller)
        await readChunks(raw, source, take, stallMs)
      }
      return { bytes: Buffer.concat(chunks), release }
    } catch (error) {
      release()
      if (error instanceof HttpError && error.status === 413 && !raw.complete) {
        chunks.length = 0
        using _ = admission.receive(caller)
        await discardRest(raw, Math.min(stallMs, MAX_DISCARD_MS))
      }
      throw error
    }
  }
}

/**
 * Reads the rest of a body without keeping it. Most clients read the response only after they have sent everything, and the
 * connection is closed after an error: unread bytes would reset it, and the client would lose the response.
 */
async function discardRest(raw: IncomingMessage, timeoutMs: number): Promise<void> {
  if (Number(raw.headers['content-length']) > MAX_DISCARDED_BYTES) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timeout = setTimeout(resolve, timeoutMs)
  let size = 0
  const count = (chunk: Buffer) => {
    size += chunk.length
    if (size > MAX_DISCARDED_BYTES) resolve()
  }
  raw.on('data', count).once('end', resolve).once('close', resolve).resume()
  await promise
  clearTimeout(timeout)
  raw.off('data', count).pause()
}

function decompress(raw: IncomingMessage): Readable {
  const encoding = raw.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding === 'identity') return raw
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new HttpError(
      415,
      `Unsupported content encoding: ${encoding.slice(0, 20)}. Use gzip or none.`,
    )
  return raw.pipe(createGunzip())
}

function readChunks(
  raw: IncomingMessage,
  source: Readable,
  take: (chunk: Buffer) => void,
  stallMs?: number,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const stop = (error: unknown) => {
    raw.unpipe()
    raw.pause()
    source.removeAllListeners('data')
    if (source !== raw) source.destroy()
    reject(error)
  }
  if (stallMs !== undefined) {
    const stall = setTimeout(() => stop(requestTimeout()), stallMs)
    raw.on('data', () => stall.refresh())
    const end = () => clearTimeout(stall)
    promise.then(end, end)
  }
  source.on('data', (chunk: Buffer) => {
    try {
      take(chunk)
    } catch (error) {
      stop(error)
    }
  })
  source.once('end', resolve)
  const onDisconnect = () => stop(new ClientDisconnected())
  source.once('error', () =>
    source === raw ? onDisconnect() : stop(new HttpError(400, 'The request is not valid gzip.')),
  )
  raw.once('close', () => {
    if (!raw.complete) onDisconnect()
  })
  return promise
}
