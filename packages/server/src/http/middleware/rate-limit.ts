import type * as wire from '@godwit/contract/schemas/types'
import { UNSERVED_RESOURCES } from '@godwit/contract/schemas/user'
import type { FastifyReply } from 'fastify'
import type { Pool } from 'pg'
import type { Viewer } from '../../accounts/account.ts'
import { HttpError, rateLimitDisabled, rateLimited } from './http-errors.ts'
import { addressKey, type Caller } from './request.ts'

const HOUR_MS = 3_600_000
/** Requests without a token that one address may make in an hour. */
const ANONYMOUS_PER_HOUR = 60

export interface RateLimitOptions {
  /** Requests that an account may make in an hour; 0 for no limit. */
  perHour: number
  /** Processes with the same PostgreSQL share their counts; without it each process has its own. */
  pool: Pool | undefined
}

export type RateLimit = ReturnType<typeof createRateLimit>

export function createRateLimit({ perHour, pool }: RateLimitOptions, now: () => number) {
  const accounts = pool ? countersInPostgres(HOUR_MS, now, pool) : countersInMemory(HOUR_MS, now)
  // In memory: a client may use any number of addresses, and a table of them would grow without limit.
  const addresses = countersInMemory(HOUR_MS, now)
  const gitAddresses = countersInMemory(HOUR_MS, now)

  /** Sends no `retry-after`: clients take a 403 with that header for a secondary limit, which is over soon. */
  function enforce(reply: FastifyReply, limit: number, count: Count, limitExceeded: () => Error) {
    setRateLimitHeaders(reply, limit, count)
    if (count.times > limit) throw limitExceeded()
  }

  const accountKey = ({ account }: Pick<Viewer, 'account'>) => String(account.id)
  const limitOf = ({ viewer }: Caller) => (viewer ? perHour : Math.min(perHour, ANONYMOUS_PER_HOUR))
  const add = ({ viewer, ip }: Caller, by: number) =>
    viewer ? accounts.add(accountKey(viewer), by) : addresses.add(addressKey(ip), by)

  return {
    /** Counts a request and sets the `x-ratelimit-*` headers. Throws once the limit is exceeded. */
    async count(caller: Caller, reply: FastifyReply): Promise<void> {
      if (perHour === 0) return
      const { viewer, ip } = caller
      enforce(reply, limitOf(caller), await add(caller, 1), () =>
        viewer
          ? rateLimited(viewer.account)
          : new HttpError(
              403,
              `API rate limit exceeded for ${ip}. Requests with a token have a higher limit.`,
            ),
      )
    },

    /** Counts an anonymous request of a git client. Each address may make as many as an account, in addition to those of the API. */
    async countAddress(ip: string, reply: FastifyReply): Promise<void> {
      if (perHour === 0) return
      const count = await gitAddresses.add(addressKey(ip), 1)
      const message = `Rate limit exceeded for ${ip}. Use a token: accounts have limits of their own.`
      enforce(reply, perHour, count, () => new HttpError(403, message))
    },

    /** Takes back the count of a request whose response was 304. */
    async giveBack(caller: Caller, reply: FastifyReply): Promise<void> {
      if (perHour > 0) setRateLimitHeaders(reply, limitOf(caller), await add(caller, -1))
    },

    /** Returns the state of the caller's limit, without counting. Throws 404 if there is no limit. */
    async show(caller: Caller): Promise<wire.RateLimit> {
      if (perHour === 0) throw rateLimitDisabled()
      const { viewer, ip } = caller
      const count = await (viewer
        ? accounts.get(accountKey(viewer))
        : addresses.get(addressKey(ip)))
      const core = rateLimitJson(limitOf(caller), count)
      const unserved = UNSERVED_RESOURCES.map((resource) => [
        resource,
        { ...core, limit: 0, remaining: 0, used: 0, resource },
      ])
      const resources = { core, ...Object.fromEntries(unserved) } as wire.RateLimit['resources']
      return { resources, rate: core }
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

/** The number of requests within a window of time, which starts with the first of them. */
interface Count {
  times: number
  /** The end of the window in epoch milliseconds. */
  endsAt: number
}

interface Counters {
  /** Adds to a count and returns the result. `by` may be negative. */
  add(key: string, by: number): Count | Promise<Count>
  get(key: string): Count | Promise<Count>
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

  /** A window that would end later than a new one was opened before the clock was set back. */
  const isOpen = ({ endsAt }: Count): boolean => endsAt > now() && endsAt <= now() + windowMs

  function sweep(): void {
    for (const [key, count] of counts) if (!isOpen(count)) counts.delete(key)
    sweepAbove = Math.max(MIN_SWEPT, 2 * counts.size)
  }

  return {
    add(key, by) {
      const { times, endsAt } = get(key)
      // A new object each time: a caller that awaits its count must not see what is added later.
      const count = { times: Math.max(0, times + by), endsAt }
      counts.set(key, count)
      if (counts.size > sweepAbove) sweep()
      return count
    },
    get,
  }
}

/**
 * Adds to any number of keys in one statement. The keys are sorted, so that two processes cannot deadlock. The commit does not wait
 * for the disk: a crash of PostgreSQL may lose the counts of the last moment.
 */
const ADD = `
  insert into rate_limits as known (key, points, expire)
  select key, points, $4::bigint
  from unnest($1::text[], $2::integer[]) as added (key, points),
    (select set_config('synchronous_commit', 'off', true)) as asynchronous
  order by key
  on conflict (key) do update set
    points = excluded.points
      + case when known.expire > $3 and known.expire <= $5 then known.points else 0 end,
    expire = case when known.expire > $3 and known.expire <= $5 then known.expire else excluded.expire end
  returning key, points, expire`

const GET = 'select points, expire from rate_limits where key = $1 and expire > $2 and expire <= $3'

/** A window that ends later was opened by a process with a wrong clock. The clocks of two machines may differ a little. */
const latestEnd = (now: number, windowMs: number): number => now + 2 * windowMs

type CountRow = { key: string; points: number; expire: number }

interface PendingAdd {
  key: string
  by: number
  resolve(count: Count): void
  reject(error: unknown): void
}

/**
 * Counters that all processes with one PostgreSQL share. All additions that arrive while a statement runs go into the next one, and
 * each still gets its exact count. Rows are never removed: there are at most as many as accounts.
 */
export function countersInPostgres(windowMs: number, now: () => number, pool: Pool): Counters {
  const rowKey = (key: string) => `account:${key}`
  let pending: PendingAdd[] = []
  let isWriting = false

  async function writePending(): Promise<void> {
    isWriting = true
    while (pending.length > 0) {
      const batch = pending
      pending = []
      await writeBatch(batch).catch((error: unknown) => {
        for (const { reject } of batch) reject(error)
      })
    }
    isWriting = false
  }

  async function writeBatch(batch: PendingAdd[]): Promise<void> {
    const adds = Map.groupBy(batch, ({ key }) => key)
    const sums = [...adds.values()].map(sumOf)
    const values = [[...adds.keys()], sums, now(), now() + windowMs, latestEnd(now(), windowMs)]
    const { rows } = await pool.query<CountRow>({ name: 'godwit-rate-limit', text: ADD, values })
    for (const { key, points, expire } of rows) resolveAll(adds.get(key)!, points, expire)
  }

  return {
    add: (key, by) =>
      new Promise((resolve, reject) => {
        pending.push({ key: rowKey(key), by, resolve, reject })
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

/** Resolves each addition with the count after it, as if it had been written alone. */
function resolveAll(adds: PendingAdd[], total: number, endsAt: number): void {
  let times = total - sumOf(adds)
  for (const { by, resolve } of adds) {
    times += by
    resolve({ times: Math.max(0, times), endsAt })
  }
}
