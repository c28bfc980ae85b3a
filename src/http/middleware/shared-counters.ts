import type { Pool } from 'pg'
import type { Count, Counters } from './counters.ts'

/**
 * One statement for any number of keys; in order, so that two processes never wait for each other crosswise. Nobody waits for
 * the disk: a PostgreSQL that crashes may forget the counts of its last moment.
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

/** A window that ends after this was opened by a clock that was wrong; those of two machines may differ a little. */
const latestEnd = (now: number, windowMs: number): number => now + 2 * windowMs

const LOOK =
  'select points, expire from rate_limits where key = $1 and expire > $2 and expire <= $3'

interface Row {
  key: string
  points: number
  expire: number
}

interface Waiting {
  by: number
  resolve(count: Count): void
  reject(error: unknown): void
}

/**
 * Of all processes on one PostgreSQL together. Exact, and yet a single write for all who come while the last is on its way:
 * each is told the count that it would have found alone. There are never more rows than accounts, so none is removed.
 */
export function countersInPostgres(windowMs: number, now: () => number, pool: Pool): Counters {
  const keyOf = (key: string) => `account:${key}`
  let waiting = new Map<string, Waiting[]>()
  let isWriting = false

  async function writeWhileAnyWait(): Promise<void> {
    isWriting = true
    while (waiting.size > 0) {
      const all = waiting
      waiting = new Map()
      await addAll(pool, all, now(), windowMs).catch((error: unknown) => {
        for (const { reject } of [...all.values()].flat()) reject(error)
      })
    }
    isWriting = false
  }

  return {
    add: (key, by) =>
      new Promise((resolve, reject) => {
        const line = waiting.get(keyOf(key))
        const next = { by, resolve, reject }
        if (line) line.push(next)
        else waiting.set(keyOf(key), [next])
        if (!isWriting) void writeWhileAnyWait()
      }),

    async look(key) {
      const { rows } = await pool.query<Row>(LOOK, [keyOf(key), now(), latestEnd(now(), windowMs)])
      const [row] = rows
      return row
        ? { times: Math.max(0, row.points), endsAt: row.expire }
        : { times: 0, endsAt: now() + windowMs }
    },
  }
}

async function addAll(
  pool: Pool,
  all: Map<string, Waiting[]>,
  now: number,
  windowMs: number,
): Promise<void> {
  const keys = [...all.keys()]
  const sums = keys.map((key) => sumOf(all.get(key)!))
  const values = [keys, sums, now, now + windowMs, latestEnd(now, windowMs)]
  const { rows } = await pool.query<Row>({ name: 'godwit-rate-limit', text: ADD, values })
  for (const { key, points, expire } of rows) tell(all.get(key)!, points, expire)
}

const sumOf = (line: Waiting[]) => line.reduce((total, { by }) => total + by, 0)

function tell(line: Waiting[], times: number, endsAt: number): void {
  let count = times - sumOf(line)
  for (const { by, resolve } of line) {
    count += by
    resolve({ times: Math.max(0, count), endsAt })
  }
}
