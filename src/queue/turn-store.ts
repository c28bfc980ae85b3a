import type { Db } from '../db/database.ts'

export interface Turn {
  name: string
  everyMs: number
  now: number
}

/**
 * True for one caller in every period, of all processes on the database: the first that asks when it is time again. One
 * that dies at its work is followed by the next. A turn more than two periods away was noted by a clock that was wrong.
 */
export async function takeTurn(db: Db, { name, everyMs, now }: Turn): Promise<boolean> {
  const next_at = now + everyMs
  const tooFar = now + 2 * everyMs
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('turns')
    .values({ name, next_at })
    .onConflict((known) =>
      known
        .column('name')
        .doUpdateSet({ next_at })
        .where((is) => is.or([is('turns.next_at', '<=', now), is('turns.next_at', '>', tooFar)])),
    )
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** What failed is tried again soon, by whoever asks next. */
export async function giveTurnBack(db: Db, name: string): Promise<void> {
  await db.deleteFrom('turns').where('name', '=', name).execute()
}

const endOf = (name: string): string => `${name}: last end`
const workOn = (name: string): string => `${name}: at work`

export const noteTurnEnd = (db: Db, name: string, now: number): Promise<void> =>
  note(db, endOf(name), now)

/** Whether somebody has come to the end of a turn since then. */
export const hasTurnEnded = (db: Db, name: string, since: number): Promise<boolean> =>
  wasNoted(db, endOf(name), since)

/** Whoever has a turn that takes long says so now and then: then others know whether to wait. */
export const noteTurnAtWork = (db: Db, name: string, now: number): Promise<void> =>
  note(db, workOn(name), now)

export const isTurnAtWork = (db: Db, name: string, since: number): Promise<boolean> =>
  wasNoted(db, workOn(name), since)

async function note(db: Db, what: string, now: number): Promise<void> {
  await db
    .insertInto('turns')
    .values({ name: what, next_at: now })
    .onConflict((known) => known.column('name').doUpdateSet({ next_at: now }))
    .execute()
}

async function wasNoted(db: Db, what: string, since: number): Promise<boolean> {
  const row = await db
    .selectFrom('turns')
    .select('next_at')
    .where('name', '=', what)
    .executeTakeFirst()
  return row !== undefined && row.next_at >= since
}
