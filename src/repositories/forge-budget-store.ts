import type { Db } from '../db/database.ts'
import type { ForgeBudget } from '../sources/forge/connect-forge.ts'
import { WaitUntil } from '../sources/forge-errors.ts'

export interface BudgetOptions {
  db: Db
  /** The URL of the forge. */
  forge: string
  requestsPerMinute: number
  now: () => number
}

const PERIOD_MS = 60_000
/** A process reserves so many requests at a time, for a short time: so it soon notices when the forge is on hold. */
const MAX_RESERVED = 20
const RESERVED_FOR_MS = 2000
/** A longer hold is ignored: it was written with a wrong clock. */
const MAX_HOLD_MS = 24 * 60 * PERIOD_MS

/** A limit of requests per minute to a forge, shared by all processes. */
export function budgetInDatabase(options: BudgetOptions): ForgeBudget {
  const { forge, requestsPerMinute, now } = options
  const batchSize = Math.max(1, Math.min(MAX_RESERVED, Math.floor(requestsPerMinute / 10)))
  let [left, reservedUntil] = [0, 0]
  let reserving: Promise<void> | undefined

  async function reserveSome(): Promise<void> {
    const dueAt = await takeRequests(options, batchSize)
    if (dueAt !== undefined)
      throw new WaitUntil(dueAt, 'budget', `enough requests for now: ${forge}`)
    left = batchSize
    reservedUntil = now() + RESERVED_FOR_MS
  }

  return {
    async take() {
      while (left <= 0 || reservedUntil < now()) {
        reserving ??= reserveSome().finally(() => {
          reserving = undefined
        })
        await reserving
      }
      left--
    },

    async holdUntil(time) {
      left = 0
      await setHold(options, time)
    },
  }
}

type StoredBudget = Awaited<ReturnType<typeof findBudget>>

/** Returns the time of the next attempt, or undefined if the requests were granted. */
async function takeRequests(options: BudgetOptions, count: number): Promise<number | undefined> {
  const { db, forge, requestsPerMinute, now } = options
  for (;;) {
    const time = now()
    const known = await findBudget(db, forge)
    if (known && known.held_until > time && known.held_until <= time + MAX_HOLD_MS)
      return known.held_until
    // A period that ends later than that was written with a wrong clock.
    const isOver = !known || known.ends_at <= time || known.ends_at > time + 2 * PERIOD_MS
    if (!isOver && known.taken + count > requestsPerMinute) return known.ends_at
    const next = isOver
      ? { ends_at: time + PERIOD_MS, taken: count }
      : { ends_at: known.ends_at, taken: known.taken + count }
    if (await replaceBudget(db, forge, known, next)) return undefined
  }
}

/** Returns false if another process has changed the budget meanwhile. */
async function replaceBudget(
  db: Db,
  forge: string,
  stored: StoredBudget,
  next: { ends_at: number; taken: number },
): Promise<boolean> {
  if (!stored) {
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('forge_budgets')
      .values({ forge, ...next, held_until: 0 })
      .onConflict((same) => same.column('forge').doNothing())
      .executeTakeFirst()
    return numInsertedOrUpdatedRows === 1n
  }
  const { numUpdatedRows } = await db
    .updateTable('forge_budgets')
    .set(next)
    .where('forge', '=', forge)
    .where('ends_at', '=', stored.ends_at)
    .where('taken', '=', stored.taken)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

const findBudget = (db: Db, forge: string) =>
  db.selectFrom('forge_budgets').selectAll().where('forge', '=', forge).executeTakeFirst()

async function setHold({ db, forge, now }: BudgetOptions, time: number): Promise<void> {
  await db
    .insertInto('forge_budgets')
    .values({ forge, ends_at: now() + PERIOD_MS, taken: 0, held_until: time })
    .onConflict((same) =>
      same
        .column('forge')
        .doUpdateSet({ held_until: time })
        .where((row) =>
          row.or([
            row('forge_budgets.held_until', '<', time),
            row('forge_budgets.held_until', '>', now() + MAX_HOLD_MS),
          ]),
        ),
    )
    .execute()
}
