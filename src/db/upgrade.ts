import { type Kysely, sql } from 'kysely'
import type { Engine, SchemaStep } from '../../schema/step.ts'
import { steps } from '../../schema/steps.ts'
import type { Database, Db } from './database.ts'

/** Any number that nobody else on the same PostgreSQL is likely to lock. */
const UPGRADE_LOCK = 0x676f64776974

/** How many steps this binary knows. */
export const KNOWN_SCHEMA = steps.length

export class SchemaTooNew extends Error {
  override name = 'SchemaTooNew'
  constructor(found: number) {
    super(
      `the database has schema ${found}, this version supports up to ${KNOWN_SCHEMA}: use the newer version of Godwit that upgraded it`,
    )
  }
}

/**
 * Brings the database to this binary's schema: all missing steps or none. Several processes may do this at once; one
 * does the work and the others find it done.
 */
export async function upgradeSchema({ db, engine }: Database): Promise<void> {
  await db.transaction().execute(async (tx) => {
    if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${UPGRADE_LOCK})`.execute(tx)
    await sql`create table if not exists godwit_schema (
      step integer primary key, name text not null, applied_at bigint not null)`.execute(tx)
    const applied = await appliedSteps(tx)
    if (applied > KNOWN_SCHEMA) throw new SchemaTooNew(applied)
    for (const [index, step] of steps.entries()) {
      if (index < applied) continue
      await applyStep(tx, engine, step)
      await sql`insert into godwit_schema (step, name, applied_at)
        values (${index + 1}, ${step.name}, ${Date.now()})`.execute(tx)
    }
  })
}

/** Whether Godwit has ever been here. */
export async function hasSchema({ db, engine }: Database): Promise<boolean> {
  const question =
    engine === 'postgres'
      ? sql`select 1 where to_regclass('godwit_schema') is not null`
      : sql`select 1 from sqlite_schema where name = 'godwit_schema'`
  return (await question.execute(db)).rows.length > 0
}

/** The caller brings the transaction. */
export async function applyStep(
  tx: Db,
  engine: Engine,
  { statements, convertRows }: SchemaStep,
): Promise<void> {
  for (const statement of statements(engine)) await sql.raw(statement).execute(tx)
  await convertRows?.(tx as unknown as Kysely<unknown>)
}

async function appliedSteps(db: Db): Promise<number> {
  const { rows } = await sql<{ step: number | null }>`
    select max(step) as step from godwit_schema`.execute(db)
  return rows[0]?.step ?? 0
}
