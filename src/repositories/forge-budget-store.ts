import type { Db } from '../db/database.ts'
import type { ForgeBudget } from '../sources/forge/connect-forge.ts'
import { ForgeUnavailable } from '../sources/forge-errors.ts'

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
export function createForgeBudget(options: BudgetOptions): ForgeBudget {
  const { forge, requestsPerMinute, now } = options
  const atOnce = Math.max(1, Math.min(TAKEN_AT_ONCE, Math.floor(requestsPerMinute / 10)))
  let [left, validUntil] = [0, 0]
  let taking: Promise<void> | undefined

  async function takeSome(): Promise<void> {
    const dueAt = await takeRequests(options, atOnce)
    if (dueAt !== undefined)
      throw new ForgeUnavailable(
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

type Budget = Awaited<ReturnType<typeof findBudget>>

/** Returns the time of the next attempt, or undefined if the requests were granted. */
async function takeRequests(options: BudgetOptions, count: number): Promise<number | undefined> {
  const { db, forge, requestsPerMinute, now } = options
  for (;;) {
    const time = now()
    const budget = await findBudget(db, forge)
    if (budget && budget.held_until > time && budget.held_until <= time + MAX_HOLD_MS)
      return budget.held_until
    // A period that ends too late was set by a clock that was wrong.
    const isOver = !budget || budget.ends_at <= time || budget.ends_at > time + 2 * PERIOD_MS
    if (!isOver && budget.taken + count > requestsPerMinute) return budget.ends_at
    const next = isOver
      ? { ends_at: time + PERIOD_MS, taken: count }
      : { ends_at: budget.ends_at, taken: budget.taken + count }
    if (await replaceBudget(db, forge, budget, next)) return undefined
  }
}

/** Returns false if another process changed the budget at the same time. */
async function replaceBudget(
  db: Db,
  forge: string,
  budget: Budget,
  next: { ends_at: number; taken: number },
): Promise<boolean> {
  if (!budget) {
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('forge_budgets')
      .values({ forge, ...next, held_until: 0 })
      .onConflict((oc) => oc.column('forge').doNothing())
      .executeTakeFirst()
    return numInsertedOrUpdatedRows === 1n
  }
  const { numUpdatedRows } = await db
    .updateTable('forge_budgets')
    .set(next)
    .where('forge', '=', forge)
    .where('ends_at', '=', budget.ends_at)
    .where('taken', '=', budget.taken)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

const findBudget = (db: Db, forge: string) =>
  db.selectFrom('forge_budgets').selectAll().where('forge', '=', forge).executeTakeFirst()

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
