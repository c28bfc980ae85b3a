import type { ServerResponse } from 'node:http'
import type { Write } from '@godwit/archive/tar/copy-archive'
import type { FastifyReply } from 'fastify'

/** The client closed the connection, or read nothing for too long. */
export class ClientDisconnected extends Error {
  override name = 'ClientDisconnected'

  constructor(options?: ErrorOptions) {
    super('the client disconnected', options)
  }
}

export type ClientReader = ReturnType<typeof watchClient>

/** Watches the client that reads a response, such as an archive or a clone. */
export function watchClient(raw: ServerResponse) {
  const disconnected = new AbortController()
  const closed = Promise.withResolvers<void>()
  // The write in progress. Node does not call its callback once the connection has closed.
  let pending: PromiseWithResolvers<void> | undefined
  let sent = 0
  const onClose = () => {
    closed.resolve()
    if (raw.writableFinished) return
    const reason = new ClientDisconnected()
    disconnected.abort(reason)
    pending?.reject(reason)
  }
  // The client may have disconnected while its body was read or its token checked.
  if (raw.destroyed) onClose()
  else raw.once('close', onClose)

  function write(bytes: Uint8Array): Promise<void> {
    const current = Promise.withResolvers<void>()
    pending = current
    if (disconnected.signal.aborted) current.reject(disconnected.signal.reason)
    raw.write(bytes, (error) => {
      if (error) return current.reject(new ClientDisconnected({ cause: error }))
      sent += bytes.length
      current.resolve()
    })
    return current.promise
  }

  return {
    /** Aborts when the client disconnects. */
    signal: disconnected.signal,
    /** Resolves when the response has ended or the client has disconnected. */
    closed: closed.promise,
    /** Sends the reply's status and headers, and returns the function that writes the body. */
    begin(reply: FastifyReply): Write {
      reply.hijack()
      raw.writeHead(reply.statusCode, reply.getHeaders() as Record<string, string>)
      return write
    },
    /** Returns how many bytes of the body were written. */
    sent: () => sent,
  }
}

/** Counts how downloads or clones through this process ended. Git refuses invalid requests. */
export interface OutcomeCounter {
  add(outcome: 'complete' | 'ended_by_client' | 'refused' | 'failed'): void
}

export const EVENT_STREAM = 'text/event-stream'

/**
 * Sends the headers of an event stream and returns the response, to which the caller writes events. `x-accel-buffering` turns off
 * the buffering of nginx and compatible proxies.
 */
export function openEventStream(reply: FastifyReply): ServerResponse {
  const headers = reply
    .headers({
      'content-type': EVENT_STREAM,
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    })
    .getHeaders()
  reply.hijack()
  return reply.raw.writeHead(200, headers as Record<string, string>)
}
