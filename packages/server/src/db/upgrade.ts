import { UserError } from '@godwit/lib/user-error'
import { sql } from 'kysely'
import { type SchemaStep, steps } from '../schema/steps.ts'
import type { Database } from './database.ts'

/** A number that no other application on the same PostgreSQL is likely to lock. */
const UPGRADE_LOCK = 0x676f64776974

/** The schema that this version upgrades a database to. */
export const NEWEST_SCHEMA = steps.length

/**
 * Applies the steps that the database lacks: all of them or, if one fails, none. Several processes may call this at the same time;
 * one applies the steps and the others find them applied. Throws a UserError if a newer version has upgraded the database.
 */
export async function upgradeSchema(
  { db, engine }: Database,
  allSteps: readonly SchemaStep[] = steps,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${UPGRADE_LOCK})`.execute(tx)
    await sql`create table if not exists godwit_schema (
      step integer primary key, name text not null, applied_at bigint not null)`.execute(tx)
    const { rows } = await sql<{ step: number | null }>`
      select max(step) as step from godwit_schema`.execute(tx)
    const applied = rows[0]?.step ?? 0
    if (applied > allSteps.length)
      throw new UserError(
        `the database has schema ${applied}, this version supports up to ${NEWEST_SCHEMA}: use the newer version of Godwit that upgraded it`,
      )
    for (const [index, { name, statements }] of allSteps.entries()) {
      if (index < applied) continue
      for (const statement of statements(engine)) await sql.raw(statement).execute(tx)
      await sql`insert into godwit_schema (step, name, applied_at)
        values (${index + 1}, ${name}, ${Date.now()})`.execute(tx)
    }
  })
}

/** Whether Godwit has ever created its schema in this database. */
export async function hasSchema({ db, engine }: Database): Promise<boolean> {
  const query =
    engine === 'postgres'
      ? sql`select 1 where to_regclass('godwit_schema') is not null`
      : sql`select 1 from sqlite_schema where name = 'godwit_schema'`
  return (await query.execute(db)).rows.length > 0
}

/** Throws a UserError unless the database has the schema of this version. */
export async function requireNewestSchema({ db }: Database): Promise<void> {
  const { rows } = await sql<{ step: number }>`select max(step) as step from godwit_schema`.execute(
    db,
  )
  if (rows[0]?.step !== NEWEST_SCHEMA)
    throw new UserError(
      `the database has schema ${rows[0]?.step}, this version needs ${NEWEST_SCHEMA}: start the service once with this version`,
    )
}
