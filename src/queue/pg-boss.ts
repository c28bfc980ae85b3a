import { PgBoss } from 'pg-boss'
import type { Db } from '../db/database.ts'
import { CHANNEL, countJobs, deleteBatch, insertJobs, pgBossJobs, SCHEMA } from './pg-boss-jobs.ts'
import { isQueueName, type Queue, type QueueName, queueNames } from './queue.ts'
import { defaultTiming, type JobTiming } from './run-job.ts'
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
