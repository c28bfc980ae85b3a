import type { Db } from '../db/database.ts'

/** A process of the service, as of its last heartbeat. */
export interface ProcessRecord {
  id: string
  host: string
  pid: number
  role: 'all' | 'api' | 'worker'
  version: string
  /** 0 if it only serves requests. */
  concurrency: number
  runningJobs: number
  startedAt: number
  seenAt: number
  /** Free space on the disk of the blob store; null if it does not export, or if blobs are in a bucket. */
  freeBytes: number | null
  /** The size of its snapshots; null if it does not export. */
  scratchBytes: number | null
}

/** A process that sent no heartbeat for this long is considered dead: three intervals and some tolerance. */
export const DEAD_AFTER_MS = 35_000
/** Dead processes stay listed for this long, so that an operator can see them. */
const DELETE_AFTER_MS = 3_600_000

/** Records a heartbeat, and deletes processes that died long ago. */
export async function recordHeartbeat(db: Db, record: ProcessRecord): Promise<void> {
  const { id, runningJobs, startedAt, seenAt, freeBytes, scratchBytes, ...same } = record
  const columns = {
    ...same,
    running_jobs: runningJobs,
    started_at: startedAt,
    seen_at: seenAt,
    free_bytes: freeBytes,
    scratch_bytes: scratchBytes,
  }
  await db
    .insertInto('workers')
    .values({ id, ...columns })
    .onConflict((oc) => oc.column('id').doUpdateSet(columns))
    .execute()
  await db
    .deleteFrom('workers')
    .where('seen_at', '<', seenAt - DELETE_AFTER_MS)
    .execute()
}

export async function removeProcess(db: Db, id: string): Promise<void> {
  await db.deleteFrom('workers').where('id', '=', id).execute()
}

/** Returns the smallest free space of all live processes, because any of them may run the next export; null if none reports it. */
export async function smallestFreeBytes(db: Db, now: number): Promise<number | null> {
  const { least } = await liveProcesses(db, now)
    .select((eb) => eb.fn.min('free_bytes').as('least'))
    .executeTakeFirstOrThrow()
  return least
}

/** Returns the total size of the snapshots of all live processes. */
export async function totalScratchBytes(db: Db, now: number): Promise<number> {
  const { sum } = await liveProcesses(db, now)
    .select((eb) => eb.fn.sum('scratch_bytes').as('sum'))
    .executeTakeFirstOrThrow()
  return Number(sum ?? 0)
}

const liveProcesses = (db: Db, now: number) =>
  db.selectFrom('workers').where('seen_at', '>', now - DEAD_AFTER_MS)

/** Returns all listed processes, the oldest first. */
export async function listProcesses(db: Db): Promise<ProcessRecord[]> {
  return db
    .selectFrom('workers')
    .select(['id', 'host', 'pid', 'role', 'version', 'concurrency'])
    .select(['running_jobs as runningJobs', 'started_at as startedAt', 'seen_at as seenAt'])
    .select(['free_bytes as freeBytes', 'scratch_bytes as scratchBytes'])
    .orderBy('started_at')
    .orderBy('id')
    .$narrowType<Pick<ProcessRecord, 'role'>>()
    .execute()
}
