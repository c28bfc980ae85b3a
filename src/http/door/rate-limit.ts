import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Pool } from 'pg'
import type { Viewer } from '../../accounts/account.ts'
import { type Soon, soon } from '../../db/soon.ts'
import { getRateLimit } from '../description/openapi-service.ts'
import { viewerOf } from './authenticate.ts'
import { type Count, countersInMemory, countersInPostgres } from './counters.ts'
import { answer } from './json-answer.ts'
import { rateLimited } from './refusals.ts'

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
  /**
   * Counts an answer that is there already, and gives the headers that say what is left, names and values in turn; undefined,
   * and nothing counted, when nothing is.
   */
  countAnswered(viewer: Viewer, status: number): Soon<string[] | undefined>
  /** For one that was counted so and yet not given. */
  uncountAnswered(viewer: Viewer, status: number): Soon<unknown>
  /** Whether the address has lately sent too many wrong credentials. */
  isGuessing(ip: string): boolean
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
  const headersOf = (count: Count): string[] => {
    const { limit, remaining, used, reset, resource } = describe(count)
    return [
      ...['x-ratelimit-limit', String(limit)],
      ...['x-ratelimit-remaining', String(remaining)],
      ...['x-ratelimit-used', String(used)],
      ...['x-ratelimit-reset', String(reset)],
      ...['x-ratelimit-resource', resource],
    ]
  }
  const tell = (reply: FastifyReply, count: Count) => {
    const headers = headersOf(count)
    for (let at = 0; at < headers.length; at += 2) reply.header(headers[at]!, headers[at + 1]!)
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

    countAnswered(viewer, status) {
      if (perHour === 0) return []
      const cost = costOf(status)
      return soon(accounts.add(keyOf(viewer), cost), (count) => {
        // What costs nothing is refused all the same where nothing is left.
        if (count.times - cost < perHour) return headersOf(count)
        return soon(this.uncountAnswered(viewer, status), () => undefined)
      })
    },

    uncountAnswered(viewer, status) {
      return perHour === 0 ? undefined : accounts.add(keyOf(viewer), -costOf(status))
    },

    isGuessing: (ip) => failures.look(ip).times > FAILURES,

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

/** Not modified costs nothing. */
const costOf = (status: number) => (status === 304 ? 0 : 1)

/** Asking how much is left is free. */
export function rateLimitStatus(app: FastifyInstance, limit: RateLimit): void {
  app.get(
    '/rate_limit',
    { config: { uncounted: true }, schema: getRateLimit },
    async (request, reply) => answer(reply, await limit.show(viewerOf(request))),
  )
}
