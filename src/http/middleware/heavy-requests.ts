import { finished } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerKey } from './caller-key.ts'
import { concurrencyLimit } from './concurrency-limit.ts'
import { busy, tooManyRequests } from './refusals.ts'
import { watchClient } from './taking-client.ts'

const MAX = 8
const MAX_PER_CALLER = 2
const MAX_WAITING = 200
/** Proxies give up on a server that has said nothing for a minute. */
const WAIT_MS = 45_000

/** Requests of one kind that need much time or memory. */
export interface HeavyRequests {
  /**
   * Waits until the caller may have another such request under way; the request counts until its response has ended. Resolves to
   * a signal that aborts when the client is gone, so that the work ends with it. Rejects with 429 or 503 after too long.
   */
  begin(request: FastifyRequest, reply: FastifyReply): Promise<AbortSignal>
}

export function heavyRequests(): HeavyRequests {
  const limit = concurrencyLimit({
    max: MAX,
    maxPerCaller: MAX_PER_CALLER,
    maxWaiting: MAX_WAITING,
    waitMs: WAIT_MS,
    refusal: (isOwn) => (isOwn ? tooManyRequests() : busy()),
  })
  return {
    async begin(request, reply) {
      const { signal } = watchClient(reply.raw)
      const end = await limit.take(callerKey(request), signal)
      finished(reply.raw, end)
      return signal
    },
  }
}
