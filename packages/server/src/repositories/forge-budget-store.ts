import type { RequestBudget } from '@godwit/hosts/forge/connect-forge'
import { HostUnavailable } from '@godwit/hosts/host-errors'
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { hasExpired } from '../db/lease-store.ts'

interface BudgetOptions {
  db: Db
  /** The forge's address. */
  forge: string
  requestsPerMinute: number
  now: () => number
}

const PERIOD_MS = 60_000
/**
 * A process reserves several requests with one write to the database. The reservation ends soon, so that a pause that the forge
 * requested from another process (Retry-After) takes effect.
 */
const TAKEN_AT_ONCE = 20
const TAKEN_TTL_MS = 2000
/** A longer pause is ignored: it can only be due to a wrong clock, here or at the forge. */
const MAX_HOLD_MS = 24 * 60 * PERIOD_MS

/** Limits the requests of all processes to a forge. */
export function createForgeBudget(options: BudgetOptions): RequestBudget {
  const { forge, requestsPerMinute, now } = options
  const atOnce = Math.max(1, Math.min(TAKEN_AT_ONCE, Math.floor(requestsPerMinute / 10)))
  let [left, validUntil] = [0, 0]
  let taking: Promise<void> | undefined

  async function takeSome(): Promise<void> {
    const dueAt = await takeRequests(options, atOnce)
    if (dueAt !== undefined)
      throw new HostUnavailable(
        dueAt,
        'budget',
        `no requests to ${forge} are allowed at the moment: it asked for a pause, or the limit of ${requestsPerMinute} requests per minute is reached`,
      )
    left = atOnce
    validUntil = now() + TAKEN_TTL_MS
  }

  return {
    async take() {
      while (left <= 0 || validUntil < now()) {
        taking ??= takeSome().finally(() => {
          taking = undefined
        })
        await taking
      }
      left--
    },

    async holdUntil(time) {
      left = 0
      await storeHold(options, time)
    },
  }
}

/** Returns the time of the next attempt, or undefined if the requests were granted. */
async function takeRequests(options: BudgetOptions, count: number): Promise<number | undefined> {
  const { db, forge, requestsPerMinute } = options
  const now = options.now()
  const isOver = hasExpired('forge_budgets.ends_at', { now, maxTtlMs: PERIOD_MS })
  const isNotHeld = hasExpired('forge_budgets.held_until', { now, maxTtlMs: MAX_HOLD_MS / 2 })
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('forge_budgets')
    .values({ forge, ends_at: now + PERIOD_MS, taken: count, held_until: 0 })
    .onConflict((oc) =>
      oc
        .column('forge')
        .doUpdateSet((eb) => ({
          ends_at: sql<number>`case when ${isOver} then ${eb.ref('excluded.ends_at')} else forge_budgets.ends_at end`,
          taken: sql<number>`case when ${isOver} then 0 else forge_budgets.taken end + ${count}`,
        }))
        .where(isNotHeld)
        .where((eb) => eb.or([isOver, eb('forge_budgets.taken', '<=', requestsPerMinute - count)])),
    )
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 1n) return undefined
  const { ends_at, held_until } = await db
    .selectFrom('forge_budgets')
    .select(['ends_at', 'held_until'])
    .where('forge', '=', forge)
    .executeTakeFirstOrThrow()
  const isHeld = held_until > now && held_until <= now + MAX_HOLD_MS
  return isHeld ? held_until : ends_at
}

async function storeHold({ db, forge, now }: BudgetOptions, time: number): Promise<void> {
  await db
    .insertInto('forge_budgets')
    .values({ forge, ends_at: now() + PERIOD_MS, taken: 0, held_until: time })
    .onConflict((oc) =>
      oc
        .column('forge')
        .doUpdateSet({ held_until: time })
        .where((eb) =>
          eb.or([
            eb('forge_budgets.held_until', '<', time),
            eb('forge_budgets.held_until', '>', now() + MAX_HOLD_MS),
          ]),
        ),
    )
    .execute()
}
