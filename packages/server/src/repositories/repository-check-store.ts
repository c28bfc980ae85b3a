import { type Db, statementBatches } from '../db/database.ts'

/** The result of the last `godwit check` of a repository, or of an export since that failed. */
interface CheckRecord {
  fullName: string
  checkedAt: number
  /** Why it cannot be exported; null if it can. */
  reason: string | null
}

export async function recordCheck(
  db: Db,
  { fullName, checkedAt, reason }: CheckRecord,
): Promise<void> {
  const outcome = reason === null ? 'passed' : 'failed'
  const columns = { checked_at: checkedAt, outcome, reason }
  await db
    .insertInto('repository_checks')
    .values({ full_name: fullName, ...columns })
    .onConflict((oc) => oc.column('full_name').doUpdateSet(columns))
    .execute()
}

/** Deletes the results of failed checks or exports, because the repositories were read since. */
export async function deleteFailedChecks(db: Db, fullNames: readonly string[]): Promise<void> {
  await db
    .deleteFrom('repository_checks')
    .where('full_name', 'in', fullNames)
    .where('outcome', '=', 'failed')
    .execute()
}

/** Returns why the last check of a repository failed; null if it passed, or if there was none. */
export async function findFailedCheck(db: Db, fullName: string): Promise<string | null> {
  const row = await db
    .selectFrom('repository_checks')
    .select('reason')
    .where('full_name', '=', fullName)
    .executeTakeFirst()
  return row?.reason ?? null
}

/** Deletes the results of all repositories except these. */
export async function deleteOtherChecks(db: Db, fullNames: readonly string[]): Promise<void> {
  const existing = new Set(fullNames)
  const rows = await db.selectFrom('repository_checks').select('full_name').execute()
  const obsolete = rows.map(({ full_name }) => full_name).filter((name) => !existing.has(name))
  for (const batch of statementBatches(obsolete))
    await db.deleteFrom('repository_checks').where('full_name', 'in', batch).execute()
}

/** Counts the results. `problems` are the newest failures. */
export async function readChecks(db: Db, limit: number) {
  const counts = await db
    .selectFrom('repository_checks')
    .select((eb) => [
      'outcome',
      eb.fn.countAll<number>().as('count'),
      eb.fn.max('checked_at').as('newest'),
    ])
    .groupBy('outcome')
    .execute()
  const of = (outcome: string) => counts.find((row) => row.outcome === outcome)?.count ?? 0
  const problems = await db
    .selectFrom('repository_checks')
    .select(['full_name as fullName', 'checked_at as checkedAt', 'reason'])
    .where('outcome', '=', 'failed')
    .orderBy('checked_at', 'desc')
    .orderBy('full_name')
    .limit(limit)
    .execute()
  return {
    passed: of('passed'),
    failed: of('failed'),
    newestAt: counts.length === 0 ? null : Math.max(...counts.map(({ newest }) => newest)),
    problems,
  }
}
