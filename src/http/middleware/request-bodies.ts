import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import type { Admission } from './admission.ts'
import { callerKey } from './caller-key.ts'
import {
  badCompression,
  busy,
  requestTimeout,
  tooManyRequests,
  unknownCompression,
} from './refusals.ts'
import { ClientGone } from './taking-client.ts'
import { Tally } from './tally.ts'

const MIB = 1024 * 1024
/** Bytes of every body that are not counted. Most bodies are smaller, so they are read whatever others send. */
const UNCOUNTED = MIB / 16
/** Bytes that all bodies hold together, beyond what is not counted. */
const MAX_TOGETHER = 128 * MIB
const MAX_OF_ACCOUNT = 32 * MIB
const MAX_OF_ADDRESS = 16 * MIB
/** Bytes that the bodies of all requests without a token hold together. */
const MAX_ANONYMOUS = 32 * MIB

/** A body that was received completely. */
export interface ReceivedBody {
  bytes: Buffer
  /** Must be called once the bytes are no longer held. */
  release(): void
}

export interface BodyOptions {
  /** Of the body after decompression. */
  maxBytes: number
  /** The error for a larger body. */
  tooLarge: () => Error
  /** Whether `content-encoding: gzip` is decompressed. */
  isUnpacked?: boolean
}

export type ReadBody = (request: FastifyRequest, options: BodyOptions) => Promise<ReceivedBody>

/**
 * Reads bodies within limits per account, per address and in total. A body that has arrived is read at once. While one is still
 * being sent, it is counted by `admission.receive`, and refused if nothing arrives for `stallMs`. After an error the stream is left
 * as it is: destroying it would cut off the answer as well.
 */
export function bodyReader(admission: Pick<Admission, 'receive'>, stallMs: number): ReadBody {
  const held = new Tally()
  let anonymous = 0

  return async (request, { maxBytes, tooLarge, isUnpacked = false }) => {
    const { raw, viewer } = request
    const caller = callerKey(request)
    const chunks: Buffer[] = []
    let size = 0
    let counted = 0
    const count = (bytes: number) => {
      counted += bytes
      held.add(caller, bytes)
      if (!viewer) anonymous += bytes
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) throw tooLarge()
      chunks.push(chunk)
      count(Math.max(0, size - UNCOUNTED) - counted)
      if (counted === 0) return
      if (held.of(caller) > (viewer ? MAX_OF_ACCOUNT : MAX_OF_ADDRESS)) throw tooManyRequests()
      if (held.total() > MAX_TOGETHER || anonymous > MAX_ANONYMOUS) throw busy()
    }
    const release = () => count(-counted)
    try {
      if (Number(raw.headers['content-length']) > maxBytes) throw tooLarge()
      // A small body has often arrived with its headers, and is then known to be complete.
      if (!raw.complete) await nextTurn()
      if (raw.destroyed) throw new ClientGone('the client is gone')
      const from = isUnpacked ? unpackedFrom(raw) : raw
      if (raw.complete) await eachChunk(raw, from, take)
      else {
        using _ = admission.receive(caller)
        await eachChunk(raw, from, take, stallMs)
      }
      return { bytes: Buffer.concat(chunks), release }
    } catch (error) {
      release()
      throw error
    }
  }
}

function unpackedFrom(raw: IncomingMessage): Readable {
  const encoding = raw.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding === 'identity') return raw
  if (encoding !== 'gzip' && encoding !== 'x-gzip') throw unknownCompression(encoding)
  return raw.pipe(createGunzip())
}

function eachChunk(
  raw: IncomingMessage,
  from: Readable,
  take: (chunk: Buffer) => void,
  stallMs?: number,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const stop = (error: unknown) => {
    raw.unpipe()
    raw.pause()
    from.removeAllListeners('data')
    if (from !== raw) from.destroy()
    reject(error)
  }
  if (stallMs !== undefined) {
    const stall = setTimeout(() => stop(requestTimeout()), stallMs)
    raw.on('data', () => stall.refresh())
    const end = () => clearTimeout(stall)
    promise.then(end, end)
  }
  from.on('data', (chunk: Buffer) => {
    try {
      take(chunk)
    } catch (error) {
      stop(error)
    }
  })
  from.once('end', resolve)
  const gone = () => stop(new ClientGone('the client is gone'))
  from.once('error', () => (from === raw ? gone() : stop(badCompression())))
  raw.once('close', () => {
    if (!raw.complete) gone()
  })
  return promise
}
