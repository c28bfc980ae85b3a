import { randomUUID } from 'node:crypto'
import { type SqlBool, sql } from 'kysely'
import { type Db, hasRow } from './database.ts'

/** How far the clocks of several machines may differ, or one may be set back, before a time counts as wrong. */
export const CLOCK_TOLERANCE_MS = 60_000

/**
 * Leases: at most one process on a database does the work called `name`, until the lease expires, is released or completed. They
 * guard reading a forge's records, synchronizing repositories and every task of housekeeping.
 *
 * Three other tables hold times that look like leases and stay apart, because the time there is one column of a larger state that
 * one statement must change. A job (`queue/embedded.ts`) is found by its time, counts failures, and belongs to
 * pg-boss on PostgreSQL. A row of `forge_token_checks` is a claim to check a token with the forge, and then the result. A row of
 * `forge_budgets` counts requests and has no holder.
 */
export interface Lease {
  name: string
  /** New each time the lease is acquired. */
  token: string
  /** How long the lease lasts from each renewal. */
  ttlMs: number
}

interface LeaseRequest {
  /** What the holder does. Completes the message "another process is …". */
  name: string
  ttlMs: number
  now: number
  /** Identifies who holds the lease. A process that restarts with this value can acquire its own lease again before it expires. */
  holder?: string
  /** The longest `ttlMs` that any holder of this lease requests; by default `ttlMs`. */
  maxTtlMs?: number
}

/**
 * Another process has the lease on a named piece of work: it could not be acquired, or it expired and was taken over. The lease of a
 * job is a column of its queue, and losing it is `LeaseLost` of `queue/queue.ts`.
 */
export class LeaseTaken extends Error {
  override name = 'LeaseTaken'
  constructor(lease: Pick<Lease, 'name'>) {
    super(`another process is ${lease.name}`)
  }
}

/** Returns undefined if another holder has the lease. A task that runs once in a period acquires it for the period. */
export async function acquireLease(db: Db, request: LeaseRequest): Promise<Lease | undefined> {
  const { name, ttlMs, now, maxTtlMs = ttlMs, holder = randomUUID() } = request
  const token = randomUUID()
  const taken = { holder, token, expires_at: now + ttlMs }
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('leases')
    .values({ name, ...taken })
    .onConflict((oc) =>
      oc
        .column('name')
        .doUpdateSet(taken)
        .where((eb) =>
          eb.or([
            eb('leases.holder', '=', holder),
            hasExpired('leases.expires_at', { now, maxTtlMs }),
          ]),
        ),
    )
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n ? { name, token, ttlMs } : undefined
}

/**
 * SQL for "this time has passed". It also holds for a time that is too far ahead: a process whose clock was wrong wrote it. Twice
 * the longest time allows for clocks that differ.
 */
export const hasExpired = (column: string, { now, maxTtlMs }: { now: number; maxTtlMs: number }) =>
  sql<SqlBool>`(${sql.ref(column)} <= ${now} or ${sql.ref(column)} > ${now + 2 * maxTtlMs})`

/** In a transaction, this proves that its writes are the holder's. Throws LeaseTaken if they are not. */
export const renewLease = (tx: Db, lease: Lease, now: number): Promise<void> =>
  changeLease(tx, lease, { expires_at: now + lease.ttlMs })

/**
 * Renews the lease while `work` runs. If another process takes it, aborts the signal that `work` gets, and throws LeaseTaken
 * when `work` has failed. Other failures of a renewal are ignored: the lease may outlast them.
 */
export async function whileRenewing<T>(
  { db, lease, now, signal }: { db: Db; lease: Lease; now: () => number; signal?: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const leaseLost = new AbortController()
  let renewed = Promise.resolve()
  const renewal = setInterval(() => {
    renewed = renewed
      .then(() => renewLease(db, lease, now()))
      .catch((error: unknown) => {
        if (error instanceof LeaseTaken) leaseLost.abort(error)
      })
  }, lease.ttlMs / 4)
  try {
    return await work(AbortSignal.any([leaseLost.signal, ...(signal ? [signal] : [])]))
  } catch (error) {
    leaseLost.signal.throwIfAborted()
    throw error
  } finally {
    clearInterval(renewal)
    await renewed
  }
}

/** Records that the work is done; nobody acquires the lease again before `nextAt`. Throws LeaseTaken if it was lost. */
export const completeLease = (
  db: Db,
  lease: Lease,
  { now, nextAt }: { now: number; nextAt: number },
): Promise<void> => changeLease(db, lease, { completed_at: now, expires_at: nextAt })

async function changeLease(
  tx: Db,
  lease: Lease,
  change: { expires_at: number; completed_at?: number },
): Promise<void> {
  const update = tx.updateTable('leases').set(change).where('name', '=', lease.name)
  const { numUpdatedRows } = await update.where('token', '=', lease.token).executeTakeFirst()
  if (numUpdatedRows !== 1n) throw new LeaseTaken(lease)
}

/** Does nothing if the lease was lost. */
export async function releaseLease(db: Db, { name, token }: Lease): Promise<void> {
  await db.deleteFrom('leases').where('name', '=', name).where('token', '=', token).execute()
}

/** Whether any holder of the lease has completed its work since then. */
export function hasCompletedSince(db: Db, name: string, since: number): Promise<boolean> {
  const query = db.selectFrom('leases').select('name').where('name', '=', name)
  return hasRow(query.where('completed_at', '>=', since))
}

export async function deleteLeasesExpiredBefore(db: Db, time: number): Promise<void> {
  await db.deleteFrom('leases').where('expires_at', '<', time).execute()
}
