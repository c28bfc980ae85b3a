import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Pool } from 'pg'
import type { Viewer } from '../../accounts/account.ts'
import type * as wire from '../../wire/types.ts'
import type { Operation } from '../description/operation.ts'
import { record } from '../description/usual-answers.ts'
import { addressKey } from './address-key.ts'
import { viewerOf } from './authenticate.ts'
import { type Count, countersInMemory } from './counters.ts'
import { answer } from './json-answer.ts'
import { addressRateLimited, anonymousRateLimited, rateLimited } from './refusals.ts'
import { countersInPostgres } from './shared-counters.ts'

const HOUR = 3_600_000
/** For an address without a token, in an hour. */
const ANONYMOUS_PER_HOUR = 60

export interface RateLimitOptions {
  /** Requests an account may make in an hour; 0 for no limit. */
  perHour: number
  /** Shared by all processes on one PostgreSQL; without it each process counts for itself. */
  pool: Pool | undefined
}

/** Whose requests are counted together: an account's, or those of an address without a token. */
export interface Caller {
  viewer: Viewer | null
  ip: string
}

export interface RateLimit {
  /** Counts a request and says in its headers what is left; refuses when nothing is. */
  count(caller: Caller, reply: FastifyReply): Promise<void>
  /** A request of a git client that comes without a token, by its address: as many as an account's, apart from the API's. */
  countAddress(ip: string, reply: FastifyReply): Promise<void>
  /** Not modified costs nothing. */
  giveBack(caller: Caller, reply: FastifyReply): Promise<void>
  /** Without counting. */
  show(viewer: Viewer): Promise<wire.RateLimit>
}

export function createRateLimit({ perHour, pool }: RateLimitOptions, now: () => number): RateLimit {
  const accounts = pool ? countersInPostgres(HOUR, now, pool) : countersInMemory(HOUR, now)
  // Every process counts for itself: there may be as many addresses as anyone likes, and a table of them would grow.
  const strangers = countersInMemory(HOUR, now)
  const cloning = countersInMemory(HOUR, now)

  function spend(reply: FastifyReply, limit: number, count: Count, refusal: () => Error): void {
    tell(reply, limit, count)
    if (count.times <= limit) return
    reply.header('retry-after', Math.ceil((count.endsAt - now()) / 1000))
    throw refusal()
  }

  const keyOf = (viewer: Viewer) => String(viewer.account.id)
  const limitOf = ({ viewer }: Caller) => (viewer ? perHour : Math.min(perHour, ANONYMOUS_PER_HOUR))
  const add = ({ viewer, ip }: Caller, by: number): Promise<Count> =>
    viewer ? accounts.add(keyOf(viewer), by) : strangers.add(addressKey(ip), by)

  return {
    async count(caller, reply) {
      if (perHour === 0) return
      const { viewer, ip } = caller
      const refusal = () => (viewer ? rateLimited(viewer.account) : anonymousRateLimited(ip))
      spend(reply, limitOf(caller), await add(caller, 1), refusal)
    },

    async countAddress(ip, reply) {
      if (perHour === 0) return
      spend(reply, perHour, await cloning.add(addressKey(ip), 1), () => addressRateLimited(ip))
    },

    async giveBack(caller, reply) {
      if (perHour > 0) tell(reply, limitOf(caller), await add(caller, -1))
    },

    async show(viewer) {
      const core = describe(perHour, await accounts.look(keyOf(viewer)))
      // There is nothing to search here, but clients count on being told.
      const search = { ...core, limit: 0, remaining: 0, used: 0, resource: 'search' as const }
      return { resources: { core, search }, rate: core }
    },
  }
}

function describe(limit: number, { times, endsAt }: Count) {
  const used = Math.min(times, limit)
  const reset = Math.ceil(endsAt / 1000)
  return { limit, remaining: limit - used, used, reset, resource: 'core' as const }
}

function tell(reply: FastifyReply, perHour: number, count: Count): void {
  const { limit, remaining, used, reset, resource } = describe(perHour, count)
  reply
    .header('x-ratelimit-limit', limit)
    .header('x-ratelimit-remaining', remaining)
    .header('x-ratelimit-used', used)
    .header('x-ratelimit-reset', reset)
    .header('x-ratelimit-resource', resource)
}

const getRateLimit = {
  operationId: 'rate-limit/get',
  tags: ['Caller'],
  summary: 'Get the rate limit',
  description: 'Does not count against the rate limit.',
  responses: { 200: record('The rate limit.', 'rate-limit') },
} satisfies Operation

/** Asking how much is left is free. */
export function rateLimitStatus(app: FastifyInstance, limit: RateLimit): void {
  app.get(
    '/rate_limit',
    { config: { uncounted: true }, schema: getRateLimit },
    async (request, reply) => answer(reply, await limit.show(viewerOf(request))),
  )
}
