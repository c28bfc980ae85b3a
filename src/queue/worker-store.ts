import type { Db } from '../db/database.ts'
import type { Row, WorkersTable } from '../db/tables.ts'

/** A process of the service, as it last told of itself. */
export interface WorkerRecord {
  id: string
  host: string
  pid: number
  role: WorkersTable['role']
  version: string
  /** How many jobs it runs at once; none where it only answers requests. */
  concurrency: number
  runningJobs: number
  startedAt: number
  seenAt: number
  /** Where it writes what it exports; null where it does not export, or not onto a disk. */
  freeBytes: number | null
  /** What its snapshots take; null where it does not export. */
  scratchBytes: number | null
}

/** Three signs of life missed, and a little more. */
export const SILENT_MS = 35_000
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

/** What the living have told of the room they have: the least, for any of them may be the one. Null where none has. */
export async function leastFreeBytes(db: Db, now: number): Promise<number | null> {
  const { least } = await db
    .selectFrom('workers')
    .select((row) => row.fn.min('free_bytes').as('least'))
    .where('seen_at', '>', now - SILENT_MS)
    .executeTakeFirstOrThrow()
  return least
}

/** What the snapshots of the living take together. */
export async function allScratchBytes(db: Db, now: number): Promise<number> {
  const { sum } = await db
    .selectFrom('workers')
    .select((row) => row.fn.sum('scratch_bytes').as('sum'))
    .where('seen_at', '>', now - SILENT_MS)
    .executeTakeFirstOrThrow()
  return Number(sum ?? 0)
}

/** Whoever started first comes first. */
export async function listWorkers(db: Db): Promise<WorkerRecord[]> {
  const rows = await db
    .selectFrom('workers')
    .selectAll()
    .orderBy('started_at')
    .orderBy('id')
    .execute()
  return rows.map(({ running_jobs, started_at, seen_at, free_bytes, scratch_bytes, ...same }) => ({
    ...same,
    runningJobs: running_jobs,
    startedAt: started_at,
    seenAt: seen_at,
    freeBytes: free_bytes,
    scratchBytes: scratch_bytes,
  }))
}

function rowOf(worker: WorkerRecord): Row<WorkersTable> {
  const { runningJobs, startedAt, seenAt, freeBytes, scratchBytes, ...same } = worker
  const times = { started_at: startedAt, seen_at: seenAt }
  const bytes = { free_bytes: freeBytes, scratch_bytes: scratchBytes }
  return { ...same, ...times, ...bytes, running_jobs: runningJobs }
}
