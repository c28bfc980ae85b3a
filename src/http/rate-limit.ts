import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Pool } from 'pg'
import type { Viewer } from '../accounts/account.ts'
import { type Soon, soon } from '../db/soon.ts'
import { viewerOf } from './authenticate.ts'
import { type Count, countersInMemory, countersInPostgres } from './counters.ts'
import { getRateLimit } from './description/openapi-service.ts'
import { answer } from './json-answer.ts'
import { rateLimited, tooManyFailures } from './refusals.ts'

const HOUR = 3_600_000
const FAILURES = 60
const FAILURES_WITHIN = 600_000

export interface RateLimitOptions {
  /** Requests an account may make in an hour; 0 for no limit. */
  perHour: number
  /** Shared by all processes on one PostgreSQL; without it each process counts for itself. */
  pool: Pool | undefined
}

export interface RateLimit {
  /** Counts a request and says in its headers what is left; refuses when nothing is. */
  count(viewer: Viewer, reply: FastifyReply): Soon<void>
  /** Not modified costs nothing. */
  giveBack(viewer: Viewer, reply: FastifyReply): Soon<void>
  /** Refuses an address that has lately sent too many wrong credentials. */
  refuseGuessers(request: FastifyRequest): void
  countFailure(request: FastifyRequest): void
  /** Without counting. */
  show(viewer: Viewer): Soon<Record<string, unknown>>
}

export function createRateLimit({ perHour, pool }: RateLimitOptions, now: () => number): RateLimit {
  const accounts = pool ? countersInPostgres(HOUR, now, pool) : countersInMemory(HOUR, now)
  // Guessing is watched in every process by itself: what matters is that it is slow.
  const failures = countersInMemory(FAILURES_WITHIN, now)

  const keyOf = (viewer: Viewer) => String(viewer.account.id)
  const describe = ({ times, endsAt }: Count) => {
    const used = Math.min(times, perHour)
    const reset = Math.ceil(endsAt / 1000)
    return { limit: perHour, remaining: perHour - used, used, reset, resource: 'core' }
  }
  const tell = (reply: FastifyReply, count: Count) => {
    const { limit, remaining, used, reset, resource } = describe(count)
    reply.headers({
      'x-ratelimit-limit': limit,
      'x-ratelimit-remaining': remaining,
      'x-ratelimit-used': used,
      'x-ratelimit-reset': reset,
      'x-ratelimit-resource': resource,
    })
  }

  return {
    count(viewer, reply) {
      if (perHour === 0) return
      return soon(accounts.add(keyOf(viewer), 1), (count) => {
        tell(reply, count)
        if (count.times <= perHour) return
        reply.header('retry-after', Math.ceil((count.endsAt - now()) / 1000))
        throw rateLimited(viewer.account)
      })
    },

    giveBack(viewer, reply) {
      if (perHour === 0) return
      return soon(accounts.add(keyOf(viewer), -1), (count) => tell(reply, count))
    },

    refuseGuessers({ ip }) {
      if (failures.look(ip).times > FAILURES) throw tooManyFailures()
    },

    countFailure({ ip }) {
      failures.add(ip, 1)
    },

    show(viewer) {
      return soon(accounts.look(keyOf(viewer)), (count) => {
        const core = describe(count)
        // There is nothing to search here, but clients count on being told.
        const search = { limit: 0, remaining: 0, used: 0, reset: core.reset, resource: 'search' }
        return { resources: { core, search }, rate: core }
      })
    },
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
