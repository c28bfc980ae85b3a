import { sql } from 'kysely'
import { fromKysely, type JobWithMetadata, PgBoss } from 'pg-boss'
import type { Db } from '../db/database.ts'
import { type Backlog, isQueueName, type Queue, type QueueName, queueNames } from './queue.ts'
import { defaultTiming, type HeldJob, type JobStore, type JobTiming } from './run-job.ts'
import { Workers } from './worker.ts'

export interface PgBossQueueOptions extends Partial<JobTiming> {
  databaseUrl: string
  /** Of the same database: results and the ends of their jobs are written in its transactions. */
  db: Db
  /** Told of errors of the queue itself, while anyone works or not. */
  onError: (error: unknown) => void
  /** How often the processes, taking turns, look for jobs whose worker has fallen silent. */
  superviseSeconds?: number
}

export interface PgBossQueue extends Queue {
  /** To be called, and waited for, before anything else. Any number of processes may do so at once. */
  start(): Promise<void>
  /** Stops whoever still works here, then lets go of the database. */
  stop(): Promise<void>
}

const HOUR = 3600
const YEAR = 365 * 24 * HOUR

const lineSettings = {
  /** The least that pg-boss allows. */
  heartbeatSeconds: 10,
  expireInSeconds: 24 * HOUR,
  // pg-boss would end a job without telling anyone: it is to give up neither on one that fails nor on one that waits.
  retryLimit: 2 ** 31 - 1,
  retryDelay: 0,
  retentionSeconds: 10 * YEAR,
}

/** pg-boss on the same PostgreSQL, for any number of processes: a job of one that died goes to another. */
export function createPgBossQueue({
  databaseUrl,
  db,
  onError,
  superviseSeconds = 3,
  ...pace
}: PgBossQueueOptions): PgBossQueue {
  const boss = createBoss(databaseUrl, superviseSeconds, onError)
  const store = pgBossJobs(boss, db)
  const workers = new Workers({ db, store, pace: { ...defaultTiming, keepEveryMs: 3000, ...pace } })
  let listening: { close(): Promise<void> } | undefined

  const wake = (line?: QueueName) => workers.wake(line)
  const interrupt = (batch: string) => workers.interrupt(batch)

  async function stop(): Promise<void> {
    await workers.stop()
    await listening?.close()
    await boss.stop({ graceful: false })
  }

  return {
    async start() {
      try {
        await boss.start()
        for (const line of queueNames) {
          await boss.createQueue(line, lineSettings)
          await boss.updateQueue(line, lineSettings)
        }
        const heard = (said: string) => (isQueueName(said) ? wake(said) : interrupt(said))
        listening = await boss.getDb().listen?.(CHANNEL, heard, () => wake())
      } catch (error) {
        await stop()
        throw error
      }
    },
    stop,
    enqueue: (tx, kind, payloads, batch, line = 'jobs') =>
      insertJobs(boss, tx, { kind, payloads, batch, line }),
    cancel: deleteBatch,
    backlog: () => countJobs(db),
    running: (line) => workers.running(line),
    interrupt,
    wake,
    work: (handlers, options) => workers.start(handlers, options),
  }
}

function createBoss(
  connectionString: string,
  superviseSeconds: number,
  onError: (error: unknown) => void,
): PgBoss {
  const boss = new PgBoss({
    connectionString,
    application_name: 'godwit queue',
    max: 4,
    schema: SCHEMA,
    schedule: false,
    superviseIntervalSeconds: superviseSeconds,
    // Whose turn it is; not above the interval itself, or every second turn would be skipped.
    monitorIntervalSeconds: Math.max(1, superviseSeconds - 1),
    warningQueueSize: 1_000_000,
  })
  boss.on('error', onError)
  boss.on('warning', ({ message, data }) => onError(new Error(message, { cause: data })))
  return boss
}

/** pg-boss owns this schema whole; ours is beside it. */
export const SCHEMA = 'godwit_queue'
/** What is said there is a line that has work, or a batch that was called off. */
export const CHANNEL = 'godwit_queue'

interface Envelope {
  kind: string
  payload: unknown
  /** How many of its claims ended by no fault of its own. */
  givenBack?: number
}

/** pg-boss counts every claim of a job: whoever knows the number of the last one holds it. */
interface PgBossJob extends HeldJob {
  line: QueueName
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
    // What has waited longest in the line is next, whatever its kind.
    async claim(atMost, line) {
      const rows = await boss.fetch<Envelope>(line, { batchSize: atMost, includeMetadata: true })
      return rows.map((row) => heldJob(row, line))
    },

    // On pg-boss's own connections: a rush on the others must not look like death. However long it takes, whoever is alive
    // keeps it: pg-boss ends a job by when it was begun as well.
    async keep({ id, line, claim }) {
      const { rows } = await boss.getDb().executeSql(
        `update ${SCHEMA}.job set heartbeat_on = now(), started_on = now()
          where name = $1 and id = $2 and state = 'active' and retry_count = $3 returning id`,
        [line, id, claim],
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
      if (pauseMs === 0) await notify(db, job.line)
    },
  }
}

function heldJob(
  { id, data, groupId, retryCount }: JobWithMetadata<Envelope>,
  line: QueueName,
): PgBossJob {
  const { kind, payload, givenBack = 0 } = data
  const failures = retryCount - givenBack
  const batch = groupId ?? ''
  return { id, line, kind, payload, batch, claim: retryCount, givenBack, failures }
}

const JOBS = sql.table(`${SCHEMA}.job`)
const isOurs = sql`name in (${sql.join(queueNames)})`

const isHeld = ({ id, line, claim }: PgBossJob) =>
  sql`name = ${line} and id = ${id} and state = 'active' and retry_count = ${claim}`

interface NewJobs {
  kind: string
  payloads: readonly unknown[]
  batch: string
  line: QueueName
}

export async function insertJobs(
  boss: PgBoss,
  tx: Db,
  { kind, payloads, batch, line }: NewJobs,
): Promise<void> {
  const jobs = payloads.map((payload) => ({ data: { kind, payload }, group: { id: batch } }))
  await boss.insert(line, jobs, { db: fromKysely(tx) })
  await notify(tx, line)
}

export async function deleteBatch(tx: Db, batch: string): Promise<void> {
  const dropBatch = sql`delete from ${JOBS} where ${isOurs} and group_id = ${batch}`
  await dropBatch.execute(tx)
  // Taking over a job deletes its row and inserts it anew: who waited for that sees the new row only when looking again.
  await dropBatch.execute(tx)
  await notify(tx, batch)
}

export async function countJobs(db: Db): Promise<Backlog[]> {
  const { rows } = await sql<Backlog>`
    select data->>'kind' as kind, count(*) as jobs,
      floor(extract(epoch from min(created_on)) * 1000) as oldest
    from ${JOBS} where ${isOurs} group by 1`.execute(db)
  return rows
}

/** Heard by every process once the transaction has committed. */
async function notify(tx: Db, said: string): Promise<void> {
  await sql`select pg_notify(${CHANNEL}, ${said})`.execute(tx)
}
