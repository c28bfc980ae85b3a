import { finished } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerKey } from './caller-key.ts'
import { concurrencyLimit } from './concurrency-limit.ts'
import { busy, tooManyRequests } from './refusals.ts'
import { watchClient } from './taking-client.ts'

const MAX_RUNNING = 8
const MAX_PER_CALLER = 2
const MAX_WAITING = 200
/** Less than the minute after which proxies give up on a silent server. */
const WAIT_MS = 45_000

export type HeavyRequests = ReturnType<typeof heavyRequests>

/** Limits requests of one kind that need much time or memory. */
export function heavyRequests() {
  const limit = concurrencyLimit({
    max: MAX_RUNNING,
    maxPerCaller: MAX_PER_CALLER,
    maxWaiting: MAX_WAITING,
    waitMs: WAIT_MS,
    refusal: (isCallerFull) => (isCallerFull ? tooManyRequests() : busy()),
  })
  return {
    /**
     * Waits until the caller may run another such request, which counts until its response has ended. Resolves to a signal that
     * aborts when the client is gone, so that the work can stop. Rejects with 429 or 503 after waiting too long.
     */
    async begin(request: FastifyRequest, reply: FastifyReply): Promise<AbortSignal> {
      const { signal } = watchClient(reply.raw)
      const end = await limit.take(callerKey(request), signal)
      finished(reply.raw, end)
      return signal
    },
  }
}
