import type { Db } from '../db/database.ts'
import type { Row, WorkersTable } from '../db/tables.ts'

/** A process of the service, as it last told of itself. */
export interface WorkerRecord {
  id: string
  host: string
  pid: number
  role: string
  version: string
  /** How many jobs it runs at once; none where it only answers requests. */
  concurrency: number
  runningJobs: number
  startedAt: number
  seenAt: number
}

/** Long enough for someone to come and look why it is gone. */
const FORGOTTEN_AFTER_MS = 3_600_000

/** A sign of life. Those who have given none for long are forgotten. */
export async function noteWorker(db: Db, worker: WorkerRecord): Promise<void> {
  const { id, ...columns } = rowOf(worker)
  await db
    .insertInto('workers')
    .values({ id, ...columns })
    .onConflict((known) => known.column('id').doUpdateSet(columns))
    .execute()
  await db
    .deleteFrom('workers')
    .where('seen_at', '<', worker.seenAt - FORGOTTEN_AFTER_MS)
    .execute()
}

/** It ends, and says so. */
export async function removeWorker(db: Db, id: string): Promise<void> {
  await db.deleteFrom('workers').where('id', '=', id).execute()
}

/** Whoever started first comes first. */
export async function listWorkers(db: Db): Promise<WorkerRecord[]> {
  const rows = await db
    .selectFrom('workers')
    .selectAll()
    .orderBy('started_at')
    .orderBy('id')
    .execute()
  return rows.map(({ running_jobs, started_at, seen_at, ...same }) => ({
    ...same,
    runningJobs: running_jobs,
    startedAt: started_at,
    seenAt: seen_at,
  }))
}

function rowOf({ runningJobs, startedAt, seenAt, ...same }: WorkerRecord): Row<WorkersTable> {
  return { ...same, running_jobs: runningJobs, started_at: startedAt, seen_at: seenAt }
}
