import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { Write } from '../../archive/copy-archive.ts'

/** It left, or took nothing for too long. */
export class ClientGone extends Error {
  override name = 'ClientGone'
}

/** A client that takes an archive, for as long as it does. */
export interface DownloadClient {
  /** Aborted once it is gone. */
  signal: AbortSignal
  /** Says what the reply's headers say; from here on the answer is written by hand. */
  begin(reply: FastifyReply): Write
  /** How many bytes it was sent. */
  sent(): number
}

export function downloadTo(raw: ServerResponse): DownloadClient {
  const gone = new AbortController()
  const left = Promise.withResolvers<void>()
  left.promise.catch(() => {})
  let sent = 0
  raw.once('close', () => {
    if (raw.writableFinished) return
    const reason = new ClientGone('the client is gone')
    gone.abort(reason)
    left.reject(reason)
  })

  function write(bytes: Uint8Array): Promise<void> {
    const taken = Promise.withResolvers<void>()
    raw.write(bytes, (error) => {
      if (error) return taken.reject(new ClientGone('the client is gone', { cause: error }))
      sent += bytes.length
      taken.resolve()
    })
    return Promise.race([taken.promise, left.promise])
  }

  return {
    signal: gone.signal,
    begin(reply) {
      reply.hijack()
      raw.writeHead(reply.statusCode, reply.getHeaders() as Record<string, string>)
      return write
    },
    sent: () => sent,
  }
}
