import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { Write } from '../../archive/copy-archive.ts'

/** It left, or took nothing for too long. */
export class ClientGone extends Error {
  override name = 'ClientGone'
}

/** A client that takes an archive or a clone, for as long as it does. */
export interface ClientReader {
  /** Aborted once it is gone. */
  signal: AbortSignal
  /** Says what the reply's headers say; from here on the answer is written by hand. */
  begin(reply: FastifyReply): Write
  /** How many bytes it was sent. */
  sent(): number
}

export function watchClient(raw: ServerResponse): ClientReader {
  const gone = new AbortController()
  // Of the bytes that are on their way: nobody else tells that they will never arrive.
  let taken: PromiseWithResolvers<void> | undefined
  let sent = 0
  const onClose = () => {
    if (raw.writableFinished) return
    const reason = new ClientGone('the client is gone')
    gone.abort(reason)
    taken?.reject(reason)
  }
  // It may have left while its request was read, or while it was asked who it is.
  if (raw.destroyed) onClose()
  else raw.once('close', onClose)

  function write(bytes: Uint8Array): Promise<void> {
    const mine = Promise.withResolvers<void>()
    taken = mine
    if (gone.signal.aborted) mine.reject(gone.signal.reason)
    raw.write(bytes, (error) => {
      if (error) return mine.reject(new ClientGone('the client is gone', { cause: error }))
      sent += bytes.length
      mine.resolve()
    })
    return mine.promise
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

export const downloadOutcomes = ['whole', 'ended_by_client', 'failed_at_source'] as const
type DownloadOutcome = (typeof downloadOutcomes)[number]

/** How the downloads of this process have ended. */
export interface DownloadCounts {
  add(outcome: DownloadOutcome): void
  of(outcome: DownloadOutcome): number
}

export function countDownloads(): DownloadCounts {
  const counts = { whole: 0, ended_by_client: 0, failed_at_source: 0 }
  return {
    add(outcome) {
      counts[outcome]++
    },
    of: (outcome) => counts[outcome],
  }
}
