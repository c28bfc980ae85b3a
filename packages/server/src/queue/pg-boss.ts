import { sql } from 'kysely'
import { fromKysely, type JobWithMetadata, PgBoss } from 'pg-boss'
import type { CopySession } from '../db/copy-tables.ts'
import type { Db } from '../db/database.ts'
import {
  type Backlog,
  type CopiedJob,
  isQueueName,
  type Queue,
  type QueueName,
  queueNames,
} from './queue.ts'
import { createWorkers, type HeldJob, type JobStore, type WorkerTiming } from './run-jobs.ts'

export interface PgBossQueueOptions extends Partial<WorkerTiming> {
  databaseUrl: string
  /** Connections to the same database. Their transactions write results and remove jobs. */
  db: Db
  /** Called for errors of the queue itself, even if no worker is running. */
  onError: (error: unknown) => void
  /** How often one of the processes looks for jobs whose worker died. */
  superviseSeconds?: number
}

interface PgBossQueue extends Queue {
  /** Must be awaited before anything else. Several processes may call it at the same time. */
  start(): Promise<void>
  /** Stops the workers of this process, then closes the connections. */
  stop(): Promise<void>
}

/** pg-boss owns this schema. */
const SCHEMA = 'godwit_queue'
/** A notification is the name of a queue with new jobs, or a batch that was cancelled. */
const CHANNEL = 'godwit_queue'

const HOUR = 3600
const YEAR = 365 * 24 * HOUR

const queueSettings = {
  /** The minimum of pg-boss. */
  heartbeatSeconds: 10,
  expireInSeconds: 24 * HOUR,
  // pg-boss would remove a job without calling `onGiveUp`, so it must never give up on failing or waiting jobs.
  retryLimit: 2 ** 31 - 1,
  retryDelay: 0,
  retentionSeconds: 10 * YEAR,
}

/** Uses pg-boss on the same PostgreSQL database, for any number of processes. If one dies, another takes over its jobs. */
export function createPgBossQueue({
  databaseUrl,
  db,
  onError,
  superviseSeconds = 3,
  ...timing
}: PgBossQueueOptions): PgBossQueue {
  const boss = createBoss(databaseUrl, superviseSeconds, onError)
  const workers = createWorkers({
    db,
    store: pgBossJobs(boss, db),
    timing: { renewIntervalMs: 3000, ...timing },
  })
  let listener: { close(): Promise<void> } | undefined

  async function stop(): Promise<void> {
    await workers.stop()
    await listener?.close()
    await boss.stop({ graceful: false })
  }

  return {
    ...workers,
    async start() {
      const onNotification = (text: string) =>
        isQueueName(text) ? workers.wake(text) : workers.interrupt(text)
      try {
        await startBoss(boss)
        listener = await boss.getDb().listen?.(CHANNEL, onNotification, () => workers.wake())
      } catch (error) {
        await stop()
        throw error
      }
    },
    stop,
    async enqueue(tx, kind, payloads, batch, queue = 'jobs') {
      const jobs = payloads.map((payload) => ({ data: { kind, payload }, group: { id: batch } }))
      await boss.insert(queue, jobs, { db: fromKysely(tx) })
      await notify(tx, queue)
    },
    async cancel(tx, batch) {
      const deletion = sql`delete from ${JOBS} where ${isOurs} and group_id = ${batch}`
      await deletion.execute(tx)
      // To take over a job, pg-boss deletes its row and inserts a new one. A deletion that waited for that sees only the old row.
      await deletion.execute(tx)
      await notify(tx, batch)
    },
    backlog: () => countJobs(db),
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
    // Below the interval, or every second supervision would be skipped.
    monitorIntervalSeconds: Math.max(1, superviseSeconds - 1),
    warningQueueSize: 1_000_000,
  })
  boss.on('error', onError)
  boss.on('warning', ({ message, data }) => onError(new Error(message, { cause: data })))
  return boss
}

/** Replaces all jobs by the given ones, in the transaction of the session. Creates the queue if necessary. */
export async function insertJobs(
  databaseUrl: string,
  to: CopySession,
  batches: AsyncIterable<CopiedJob[]>,
): Promise<void> {
  let failure: unknown
  const boss = createBoss(databaseUrl, HOUR, (error) => {
    failure ??= error
  })
  try {
    await startBoss(boss)
    await to.run(`delete from ${SCHEMA}.job where name = any($1)`, [queueNames])
    const db = { executeSql: to.run }
    for await (const jobs of batches)
      for (const [queue, some] of Map.groupBy(jobs, (job) => job.queue)) {
        const inserted = some.map(({ kind, payload, batch }) => ({
          data: { kind, payload },
          ...(batch && { group: { id: batch } }),
        }))
        await boss.insert(queue, inserted, { db })
      }
  } finally {
    await boss.stop({ graceful: false })
  }
  if (failure) throw failure
}

async function startBoss(boss: PgBoss): Promise<void> {
  await boss.start()
  for (const name of queueNames) {
    await boss.createQueue(name, queueSettings)
    await boss.updateQueue(name, queueSettings)
  }
}

interface Envelope {
  kind: string
  payload: unknown
  /** The number of claims that ended without a failure. */
  givenBack?: number
}

/** pg-boss counts the claims of a job. Only the worker with the latest claim number holds it. */
interface PgBossJob extends HeldJob {
  queue: QueueName
  claim: number
  givenBack: number
}

/**
 * pg-boss claims jobs and takes over those of dead workers. All changes by a holder compare the number of its claim, which pg-boss's own
 * `touch`, `complete` and `fail` do not: with them, a worker that was presumed dead could renew, complete or fail the run of its
 * successor.
 */
function pgBossJobs(boss: PgBoss, db: Db): JobStore<PgBossJob> {
  return {
    // pg-boss returns the jobs that have waited longest, of any kind.
    async claim(atMost, queue) {
      const rows = await boss.fetch<Envelope>(queue, { batchSize: atMost, includeMetadata: true })
      return rows.map((row) => heldJob(row, queue))
    },

    // Uses pg-boss's own connections: a busy pool must not look like a dead worker. Also sets `started_on`, because pg-boss expires jobs
    // by it.
    async renew({ id, queue, claim }) {
      const { rows } = await boss.getDb().executeSql(
        `update ${SCHEMA}.job set heartbeat_on = now(), started_on = now()
          where name = $1 and id = $2 and state = 'active' and retry_count = $3 returning id`,
        [queue, id, claim],
      )
      return rows.length === 1
    },

    async remove(tx, job) {
      const { numAffectedRows } = await sql`delete from ${JOBS} where ${isHeld(job)}`.execute(tx)
      return numAffectedRows === 1n
    },

    async returnToQueue(job, { pauseMs, isFailure }) {
      const givenBack = job.givenBack + (isFailure ? 0 : 1)
      await sql`update ${JOBS}
        set state = 'retry', heartbeat_on = null,
          start_after = now() + ${pauseMs} * interval '1 millisecond',
          data = data || jsonb_build_object('givenBack', ${givenBack}::integer)
        where ${isHeld(job)}`.execute(db)
      if (pauseMs === 0) await notify(db, job.queue)
    },
  }
}

function heldJob(
  { id, data, groupId, retryCount }: JobWithMetadata<Envelope>,
  queue: QueueName,
): PgBossJob {
  const { kind, payload, givenBack = 0 } = data
  const failures = retryCount - givenBack
  const batch = groupId ?? ''
  return { id, queue, kind, payload, batch, claim: retryCount, givenBack, failures }
}

const JOBS = sql.table(`${SCHEMA}.job`)
const isOurs = sql`name in (${sql.join(queueNames)})`

const isHeld = ({ id, queue, claim }: PgBossJob) =>
  sql`name = ${queue} and id = ${id} and state = 'active' and retry_count = ${claim}`

export async function countJobs(db: Db): Promise<Backlog[]> {
  const { rows } = await sql<Backlog>`
    select data->>'kind' as kind, count(*) as jobs,
      floor(extract(epoch from min(created_on)) * 1000) as oldest
    from ${JOBS} where ${isOurs} group by 1`.execute(db)
  return rows
}

/** Notifies every process when the transaction commits. */
async function notify(tx: Db, text: string): Promise<void> {
  await sql`select pg_notify(${CHANNEL}, ${text})`.execute(tx)
}
