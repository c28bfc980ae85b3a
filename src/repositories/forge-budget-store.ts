import type { Db } from '../db/database.ts'
import type { ForgeBudget } from '../sources/forge/connect-forge.ts'
import { WaitUntil } from '../sources/forge-errors.ts'

export interface BudgetOptions {
  db: Db
  /** The forge's address. */
  forge: string
  requestsPerMinute: number
  now: () => number
}

const PERIOD_MS = 60_000
/** Requests are taken from the database so many at a time, and are good for a moment: holding back is noticed soon. */
const TAKEN_AT_ONCE = 20
const GOOD_FOR_MS = 2000
/** What is held for longer was noted by a clock that was wrong, here or there. */
const LONGEST_HOLD_MS = 24 * 60 * PERIOD_MS

/** One budget for all who ask a forge, in however many processes. */
export function budgetInDatabase(options: BudgetOptions): ForgeBudget {
  const { forge, requestsPerMinute, now } = options
  const atOnce = Math.max(1, Math.min(TAKEN_AT_ONCE, Math.floor(requestsPerMinute / 10)))
  let [left, goodUntil] = [0, 0]
  let taking: Promise<void> | undefined

  async function takeSome(): Promise<void> {
    const dueAt = await takeRequests(options, atOnce)
    if (dueAt !== undefined)
      throw new WaitUntil(dueAt, 'budget', `enough requests for now: ${forge}`)
    left = atOnce
    goodUntil = now() + GOOD_FOR_MS
  }

  return {
    async take() {
      while (left <= 0 || goodUntil < now()) {
        taking ??= takeSome().finally(() => {
          taking = undefined
        })
        await taking
      }
      left--
    },

    async holdUntil(time) {
      left = 0
      await holdBack(options, time)
    },
  }
}

type Known = Awaited<ReturnType<typeof findBudget>>

/** When to ask again; undefined where they were granted. */
async function takeRequests(options: BudgetOptions, count: number): Promise<number | undefined> {
  const { db, forge, requestsPerMinute, now } = options
  for (;;) {
    const time = now()
    const known = await findBudget(db, forge)
    if (known && known.held_until > time && known.held_until <= time + LONGEST_HOLD_MS)
      return known.held_until
    // A period that ends too late was noted by a clock that was wrong.
    const isOver = !known || known.ends_at <= time || known.ends_at > time + 2 * PERIOD_MS
    if (!isOver && known.taken + count > requestsPerMinute) return known.ends_at
    const next = isOver
      ? { ends_at: time + PERIOD_MS, taken: count }
      : { ends_at: known.ends_at, taken: known.taken + count }
    if (await replaceBudget(db, forge, known, next)) return undefined
  }
}

/** False where somebody else took some at the same time. */
async function replaceBudget(
  db: Db,
  forge: string,
  known: Known,
  next: { ends_at: number; taken: number },
): Promise<boolean> {
  if (!known) {
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
    .where('ends_at', '=', known.ends_at)
    .where('taken', '=', known.taken)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

const findBudget = (db: Db, forge: string) =>
  db.selectFrom('forge_budgets').selectAll().where('forge', '=', forge).executeTakeFirst()

async function holdBack({ db, forge, now }: BudgetOptions, time: number): Promise<void> {
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
            row('forge_budgets.held_until', '>', now() + LONGEST_HOLD_MS),
          ]),
        ),
    )
    .execute()
}
