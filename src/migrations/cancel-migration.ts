import type { Db } from '../db/connect.ts'
import type { Queue } from '../queue/queue.ts'
import { batchOf } from './export-jobs.ts'
import { moveMigration } from './export-store.ts'
import { releaseLocks } from './lock-store.ts'
import { type LockParts, settleReleasedLocks } from './locks.ts'
import type { Migration } from './migration.ts'
import { Invalid } from './refusals.ts'
import { IllegalMove } from './states.ts'

export interface CancelParts extends LockParts {
  db: Db
  queue: Queue
}

/** Ends the migration as failed; what is under way is stopped and cannot write any more. Finished segments stay. */
export async function cancelMigration(parts: CancelParts, { id }: Migration): Promise<void> {
  const { db, queue, now } = parts
  await db
    .transaction()
    .execute(async (tx) => {
      await moveMigration(tx, id, 'failed', { now: now(), reason: 'cancelled' })
      await queue.cancel(tx, batchOf(id))
      await releaseLocks(tx, id, now())
    })
    .catch((error: unknown) => {
      if (!(error instanceof IllegalMove)) throw error
      throw new Invalid([{ code: 'unprocessable', message: 'The migration has already ended.' }])
    })
  queue.interrupt(batchOf(id))
  await settleReleasedLocks(parts)
}
