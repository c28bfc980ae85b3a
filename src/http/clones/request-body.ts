import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { badCompression, busy, cloneRequestTooLarge, unknownCompression } from '../door/refusals.ts'
import { ClientGone } from '../door/taking-client.ts'

/** Once unpacked: about 300,000 refs and commits, which git names in 50 bytes each. Its own server takes 10 MiB. */
export const LARGEST_REQUEST = 16 * 1024 * 1024
/** Of all requests together. */
const LARGEST_TOGETHER = 8 * LARGEST_REQUEST

/** What a git client asks, whole: no git is started for one that sends it slowly. */
export interface RequestBody {
  bytes: Buffer
  /** Says that the bytes are no longer held. */
  release(): void
}

export type ReadRequest = (raw: IncomingMessage) => Promise<RequestBody>

/**
 * Reads requests within bounds, compressed or not. The stream is left as it is where one is refused: to destroy it would cut
 * off the refusal as well.
 */
export function requestReader(): ReadRequest {
  let together = 0

  return async (raw) => {
    const chunks: Buffer[] = []
    let size = 0
    const release = () => {
      together -= size
      size = 0
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      together += chunk.length
      chunks.push(chunk)
      if (size > LARGEST_REQUEST) throw cloneRequestTooLarge()
      if (together > LARGEST_TOGETHER) throw busy()
    }
    try {
      await eachChunk(raw, unpacked(raw), take)
      return { bytes: Buffer.concat(chunks), release }
    } catch (error) {
      release()
      throw error
    }
  }
}

function unpacked(raw: IncomingMessage): Readable {
  const encoding = raw.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding === 'identity') return raw
  if (encoding !== 'gzip' && encoding !== 'x-gzip') throw unknownCompression(encoding)
  return raw.pipe(createGunzip())
}

function eachChunk(
  raw: IncomingMessage,
  from: Readable,
  take: (chunk: Buffer) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const stop = (error: unknown) => {
    raw.unpipe()
    raw.pause()
    from.removeAllListeners('data')
    if (from !== raw) from.destroy()
    reject(error)
  }
  from.on('data', (chunk: Buffer) => {
    try {
      take(chunk)
    } catch (error) {
      stop(error)
    }
  })
  from.once('end', resolve)
  from.once('error', () => stop(badCompression()))
  raw.once('close', () => {
    if (!raw.complete) stop(new ClientGone('the client is gone'))
  })
  return promise
}
