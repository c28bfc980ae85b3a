import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Pool } from 'pg'
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import type { Viewer } from '../accounts/account.ts'
import { viewerOf } from './authenticate.ts'
import { getRateLimit } from './description/openapi-service.ts'
import { answer } from './json-answer.ts'
import { rateLimited, tooManyFailures } from './refusals.ts'

const HOUR = 3600
const FAILURES = 60
const FAILURES_WITHIN = 600

export interface RateLimitOptions {
  /** Requests an account may make in an hour; 0 for no limit. */
  perHour: number
  /** Shared by all processes on one PostgreSQL; without it each process counts for itself. */
  pool: Pool | undefined
}

export interface RateLimit {
  /** Counts a request and says in its headers what is left; refuses when nothing is. */
  count(viewer: Viewer, reply: FastifyReply): Promise<void>
  /** Not modified costs nothing. */
  giveBack(viewer: Viewer, reply: FastifyReply): Promise<void>
  /** Refuses an address that has lately sent too many wrong credentials. */
  refuseGuessers(request: FastifyRequest): Promise<void>
  countFailure(request: FastifyRequest): Promise<void>
  /** Without counting. */
  show(viewer: Viewer): Promise<Record<string, unknown>>
}

export function createRateLimit({ perHour, pool }: RateLimitOptions, now: () => number): RateLimit {
  const accounts = limiter({ keyPrefix: 'account', points: perHour, duration: HOUR }, pool)
  // Guessing is watched in every process by itself: what matters is that it is slow.
  const failures = new RateLimiterMemory({ points: FAILURES, duration: FAILURES_WITHIN })

  const keyOf = (viewer: Viewer) => String(viewer.account.id)
  const describe = (state: RateLimiterRes | null, givenBack = 0) => {
    const used = Math.min(Math.max((state?.consumedPoints ?? 0) - givenBack, 0), perHour)
    const reset = Math.ceil((now() + (state?.msBeforeNext ?? HOUR * 1000)) / 1000)
    return { limit: perHour, remaining: perHour - used, used, reset, resource: 'core' }
  }
  const tell = (reply: FastifyReply, state: ReturnType<typeof describe>) => {
    for (const [name, value] of Object.entries(state)) reply.header(`x-ratelimit-${name}`, value)
  }

  return {
    async count(viewer, reply) {
      if (perHour === 0) return
      const state = await consumed(accounts, keyOf(viewer))
      tell(reply, describe(state))
      if (state.consumedPoints <= perHour) return
      reply.header('retry-after', Math.ceil(state.msBeforeNext / 1000))
      throw rateLimited(viewer.account)
    },

    async giveBack(viewer, reply) {
      if (perHour === 0) return
      tell(reply, describe(await accounts.reward(keyOf(viewer), 1)))
    },

    async refuseGuessers({ ip }) {
      const state = await failures.get(ip)
      if (state && state.consumedPoints > FAILURES) throw tooManyFailures()
    },

    async countFailure({ ip }) {
      await consumed(failures, ip)
    },

    async show(viewer) {
      const core = describe(perHour === 0 ? null : await accounts.get(keyOf(viewer)))
      // There is nothing to search here, but clients count on being told.
      const search = { limit: 0, remaining: 0, used: 0, reset: core.reset, resource: 'search' }
      return { resources: { core, search }, rate: core }
    },
  }
}

function limiter(
  options: { keyPrefix: string; points: number; duration: number },
  pool: Pool | undefined,
): RateLimiterAbstract {
  if (!pool) return new RateLimiterMemory(options)
  const storage = { storeClient: pool, tableName: 'rate_limits', tableCreated: true }
  return new RateLimiterPostgres({ ...options, ...storage })
}

/** Running out is an answer, not an error. */
async function consumed(from: RateLimiterAbstract, key: string): Promise<RateLimiterRes> {
  try {
    return await from.consume(key)
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return refusal
    throw refusal
  }
}

/** Asking how much is left is free. */
export function rateLimitStatus(app: FastifyInstance, limit: RateLimit): void {
  app.get(
    '/rate_limit',
    { config: { uncounted: true }, schema: getRateLimit },
    async (request, reply) => answer(reply, await limit.show(viewerOf(request))),
  )
}
