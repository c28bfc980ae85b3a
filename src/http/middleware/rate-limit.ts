import type { FastifyReply } from 'fastify'
import type { Pool } from 'pg'
import type { Viewer } from '../../accounts/account.ts'
import type * as wire from '../../wire/types.ts'
import { addressKey } from './caller-key.ts'
import { addressRateLimited, anonymousRateLimited, rateLimited } from './http-errors.ts'

const HOUR_MS = 3_600_000
/** Requests per hour from an address without a token. */
const ANONYMOUS_PER_HOUR = 60

export interface RateLimitOptions {
  /** Requests an account may make in an hour; 0 for no limit. */
  perHour: number
  /** All processes on this PostgreSQL share the counts; without it each process has its own. */
  pool: Pool | undefined
}

/** Requests with a token count for the account, requests without one for the address. */
export interface Caller {
  viewer: Viewer | null
  ip: string
}

export type RateLimit = ReturnType<typeof createRateLimit>

export function createRateLimit({ perHour, pool }: RateLimitOptions, now: () => number) {
  const accounts = pool ? countersInPostgres(HOUR_MS, now, pool) : countersInMemory(HOUR_MS, now)
  // In memory: a client may use any number of addresses, and a table of them would grow without limit.
  const addresses = countersInMemory(HOUR_MS, now)
  const gitAddresses = countersInMemory(HOUR_MS, now)

  function enforce(
    reply: FastifyReply,
    limit: number,
    count: Count,
    limitExceeded: () => Error,
  ): void {
    setRateLimitHeaders(reply, limit, count)
    if (count.times <= limit) return
    reply.header('retry-after', Math.ceil((count.endsAt - now()) / 1000))
    throw limitExceeded()
  }

  const accountKey = (viewer: Viewer) => String(viewer.account.id)
  const limitOf = ({ viewer }: Caller) => (viewer ? perHour : Math.min(perHour, ANONYMOUS_PER_HOUR))
  const add = ({ viewer, ip }: Caller, by: number): Promise<Count> =>
    viewer ? accounts.add(accountKey(viewer), by) : addresses.add(addressKey(ip), by)

  return {
    /** Counts a request and sets the `x-ratelimit-*` headers. Throws once the limit is exceeded. */
    async count(caller: Caller, reply: FastifyReply): Promise<void> {
      if (perHour === 0) return
      const { viewer, ip } = caller
      enforce(reply, limitOf(caller), await add(caller, 1), () =>
        viewer ? rateLimited(viewer.account) : anonymousRateLimited(ip),
      )
    },

    /** Counts an anonymous request of a git client by its address: the limit is an account's, separate from the API's. */
    async countAddress(ip: string, reply: FastifyReply): Promise<void> {
      if (perHour === 0) return
      const count = await gitAddresses.add(addressKey(ip), 1)
      enforce(reply, perHour, count, () => addressRateLimited(ip))
    },

    /** Takes back the count of a request that was answered 304. */
    async giveBack(caller: Caller, reply: FastifyReply): Promise<void> {
      if (perHour > 0) setRateLimitHeaders(reply, limitOf(caller), await add(caller, -1))
    },

    /** Returns the state of an account's limit, without counting. */
    async show(viewer: Viewer): Promise<wire.RateLimit> {
      const core = rateLimitJson(perHour, await accounts.get(accountKey(viewer)))
      // This server has no search, but clients expect the field.
      const search = { ...core, limit: 0, remaining: 0, used: 0, resource: 'search' as const }
      return { resources: { core, search }, rate: core }
    },
  }
}

function rateLimitJson(limit: number, { times, endsAt }: Count) {
  const used = Math.min(times, limit)
  const reset = Math.ceil(endsAt / 1000)
  return { limit, remaining: limit - used, used, reset, resource: 'core' as const }
}

function setRateLimitHeaders(reply: FastifyReply, perHour: number, count: Count): void {
  const { limit, remaining, used, reset, resource } = rateLimitJson(perHour, count)
  reply
    .header('x-ratelimit-limit', limit)
    .header('x-ratelimit-remaining', remaining)
    .header('x-ratelimit-used', used)
    .header('x-ratelimit-reset', reset)
    .header('x-ratelimit-resource', resource)
}

/** How often something happened within a window, which the first occurrence opens. */
interface Count {
  times: number
  /** The end of the window in epoch milliseconds. */
  endsAt: number
}

interface Counters {
  /** Adds to a count and returns the result. `by` may be negative. */
  add(key: string, by: number): Promise<Count>
  get(key: string): Promise<Count>
}

/** Expired windows are removed once there are this many. */
const MIN_SWEPT = 10_000

/** Counters of this process alone. */
export function countersInMemory(windowMs: number, now: () => number): Counters {
  const counts = new Map<string, Count>()
  let sweepAbove = MIN_SWEPT

  function get(key: string): Count {
    const count = counts.get(key)
    return count && isOpen(count) ? count : { times: 0, endsAt: now() + windowMs }
  }

  /** A window that ends later than a new one would was opened before the clock was set back. */
  function isOpen({ endsAt }: Count): boolean {
    return endsAt > now() && endsAt <= now() + windowMs
  }

  function sweep(): void {
    for (const [key, count] of counts) if (!isOpen(count)) counts.delete(key)
    sweepAbove = Math.max(MIN_SWEPT, 2 * counts.size)
  }

  return {
    async add(key, by) {
      const { times, endsAt } = get(key)
      // A new object each time: a caller that awaits its count must not see what is added later.
      const count = { times: Math.max(0, times + by), endsAt }
      counts.set(key, count)
      if (counts.size > sweepAbove) sweep()
      return count
    },
    get: async (key) => get(key),
  }
}

/**
 * Adds to any number of keys in one statement. The keys are sorted, so that two processes cannot deadlock. It does not wait for the
 * disk: if PostgreSQL crashes, it may forget the counts of the last moment.
 */
const ADD = `
  insert into rate_limits as known (key, points, expire)
  select key, points, $4::bigint
  from unnest($1::text[], $2::integer[]) as added (key, points),
    (select set_config('synchronous_commit', 'off', true)) as unhurried
  order by key
  on conflict (key) do update set
    points = excluded.points
      + case when known.expire > $3 and known.expire <= $5 then known.points else 0 end,
    expire = case when known.expire > $3 and known.expire <= $5 then known.expire else excluded.expire end
  returning key, points, expire`

const GET = 'select points, expire from rate_limits where key = $1 and expire > $2 and expire <= $3'

/** A window that ends after this was opened by a wrong clock. The clocks of two machines may differ a little. */
const latestEnd = (now: number, windowMs: number): number => now + 2 * windowMs

interface CountRow {
  key: string
  points: number
  expire: number
}

interface PendingAdd {
  by: number
  resolve(count: Count): void
  reject(error: unknown): void
}

/**
 * Counters that all processes on one PostgreSQL share. All additions that arrive while a statement runs go into the next one, and
 * each still gets its exact count. Rows are never removed: there are at most as many as accounts.
 */
export function countersInPostgres(windowMs: number, now: () => number, pool: Pool): Counters {
  const rowKey = (key: string) => `account:${key}`
  let pending = new Map<string, PendingAdd[]>()
  let isWriting = false

  async function writePending(): Promise<void> {
    isWriting = true
    while (pending.size > 0) {
      const batch = pending
      pending = new Map()
      await writeBatch(batch).catch((error: unknown) => {
        for (const { reject } of [...batch.values()].flat()) reject(error)
      })
    }
    isWriting = false
  }

  async function writeBatch(batch: Map<string, PendingAdd[]>): Promise<void> {
    const keys = [...batch.keys()]
    const sums = keys.map((key) => sumOf(batch.get(key)!))
    const values = [keys, sums, now(), now() + windowMs, latestEnd(now(), windowMs)]
    const { rows } = await pool.query<CountRow>({ name: 'godwit-rate-limit', text: ADD, values })
    for (const { key, points, expire } of rows) resolveAll(batch.get(key)!, points, expire)
  }

  return {
    add: (key, by) =>
      new Promise((resolve, reject) => {
        const added = { by, resolve, reject }
        const adds = pending.get(rowKey(key))
        if (adds) adds.push(added)
        else pending.set(rowKey(key), [added])
        if (!isWriting) void writePending()
      }),

    async get(key) {
      const values = [rowKey(key), now(), latestEnd(now(), windowMs)]
      const [row] = (await pool.query<CountRow>(GET, values)).rows
      return row
        ? { times: Math.max(0, row.points), endsAt: row.expire }
        : { times: 0, endsAt: now() + windowMs }
    },
  }
}

const sumOf = (adds: PendingAdd[]) => adds.reduce((total, { by }) => total + by, 0)

/** Gives each addition the count that it would have got alone. */
function resolveAll(adds: PendingAdd[], total: number, endsAt: number): void {
  let times = total - sumOf(adds)
  for (const { by, resolve } of adds) {
    times += by
    resolve({ times: Math.max(0, times), endsAt })
  }
}
