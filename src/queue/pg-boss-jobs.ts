import { sql } from 'kysely'
import { fromKysely, type JobWithMetadata, type PgBoss } from 'pg-boss'
import type { Db } from '../db/database.ts'
import type { Backlog } from './queue.ts'
import type { HeldJob, JobStore } from './run-job.ts'

/** pg-boss owns this schema whole; ours is beside it. */
export const SCHEMA = 'godwit_queue'
/** One line for jobs of every kind: what has waited longest is next. */
export const LINE = 'jobs'
/** Without a payload: there is work. With one: that batch was called off. */
export const CHANNEL = 'godwit_queue'

interface Envelope {
  kind: string
  payload: unknown
  /** How many of its claims ended by no fault of its own. */
  givenBack?: number
}

/** pg-boss counts every claim of a job: whoever knows the number of the last one holds it. */
interface PgBossJob extends HeldJob {
  claim: number
  givenBack: number
}

/**
 * Jobs are taken as pg-boss takes them and taken over as pg-boss does it. Whatever a holder then does to its job asks
 * for the number of the claim, which pg-boss's own `touch`, `complete` and `fail` do not: with them, a worker that was
 * given up for dead would keep alive, end or fail the run of its successor.
 */
export function pgBossJobs(boss: PgBoss, db: Db): JobStore<PgBossJob> {
  return {
    async claim(atMost) {
      const rows = await boss.fetch<Envelope>(LINE, { batchSize: atMost, includeMetadata: true })
      return rows.map(heldJob)
    },

    // On pg-boss's own connections: a rush on the others must not look like death.
    async keep({ id, claim }) {
      const { rows } = await boss.getDb().executeSql(
        `update ${SCHEMA}.job set heartbeat_on = now()
          where name = $1 and id = $2 and state = 'active' and retry_count = $3 returning id`,
        [LINE, id, claim],
      )
      return rows.length === 1
    },

    async remove(tx, job) {
      const { numAffectedRows } = await sql`delete from ${JOBS} where ${isHeld(job)}`.execute(tx)
      return numAffectedRows === 1n
    },

    async giveBack(job, { pauseMs, isFailure }) {
      const givenBack = job.givenBack + (isFailure ? 0 : 1)
      await sql`update ${JOBS}
        set state = 'retry', heartbeat_on = null,
          start_after = now() + ${pauseMs} * interval '1 millisecond',
          data = data || jsonb_build_object('givenBack', ${givenBack}::integer)
        where ${isHeld(job)}`.execute(db)
      if (pauseMs === 0) await notify(db)
    },
  }
}

function heldJob({ id, data, groupId, retryCount }: JobWithMetadata<Envelope>): PgBossJob {
  const { kind, payload, givenBack = 0 } = data
  const failures = retryCount - givenBack
  return { id, kind, payload, batch: groupId ?? '', claim: retryCount, givenBack, failures }
}

const JOBS = sql.table(`${SCHEMA}.job`)

const isHeld = ({ id, claim }: PgBossJob) =>
  sql`name = ${LINE} and id = ${id} and state = 'active' and retry_count = ${claim}`

export async function insertJobs(
  boss: PgBoss,
  tx: Db,
  { kind, payloads, batch }: { kind: string; payloads: readonly unknown[]; batch: string },
): Promise<void> {
  const jobs = payloads.map((payload) => ({ data: { kind, payload }, group: { id: batch } }))
  await boss.insert(LINE, jobs, { db: fromKysely(tx) })
  await notify(tx)
}

export async function deleteBatch(tx: Db, batch: string): Promise<void> {
  const dropBatch = sql`delete from ${JOBS} where name = ${LINE} and group_id = ${batch}`
  await dropBatch.execute(tx)
  // Taking over a job deletes its row and inserts it anew: who waited for that sees the new row only when looking again.
  await dropBatch.execute(tx)
  await notify(tx, batch)
}

export async function countJobs(db: Db): Promise<Backlog[]> {
  const { rows } = await sql<Backlog>`
    select data->>'kind' as kind, count(*) as jobs,
      floor(extract(epoch from min(created_on)) * 1000) as oldest
    from ${JOBS} where name = ${LINE} group by 1`.execute(db)
  return rows
}

/** Heard by every process once the transaction has committed. */
async function notify(tx: Db, calledOff = ''): Promise<void> {
  await sql`select pg_notify(${CHANNEL}, ${calledOff})`.execute(tx)
}
