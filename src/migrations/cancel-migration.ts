import { retryDeadlocks } from '../db/connect.ts'
import type { AlsoWrite } from '../db/database.ts'
import { InvalidRequest } from '../lib/request-errors.ts'
import { waitAtMost } from '../lib/timers.ts'
import { endMigration } from './end-migration.ts'
import { migrationById } from './export-store.ts'
import { releaseLocks } from './lock-store.ts'
import { type LockParts, reconcileLocks } from './locks.ts'
import { logEndedMigration, type OutcomeLog } from './log-outcome.ts'
import { batchOfMigration, CANCELLED, InvalidStateChange, type Migration } from './migration.ts'
import { summaryById } from './summaries.ts'

export interface CancelParts extends LockParts {
  log: OutcomeLog
}

/** How long a cancellation waits until the released locks are removed at the source. Housekeeping finishes it. */
const MAX_UNLOCK_WAIT_MS = 1000

/** Ends the migration as failed. Running jobs are aborted and cannot write any more; finished segments stay. */
export async function cancelMigration(
  parts: CancelParts,
  { id }: Migration,
  alsoWrite?: AlsoWrite,
): Promise<Migration> {
  const { queue } = parts
  const { migration, summary, released } = await cancelInTransaction(parts, id, alsoWrite).catch(
    (error: unknown) => {
      if (!(error instanceof InvalidStateChange)) throw error
      throw new InvalidRequest([
        { code: 'unprocessable', message: 'The migration has already ended.' },
      ])
    },
  )
  queue.interrupt(batchOfMigration(id))
  queue.wake()
  logEndedMigration(parts.log, summary)
  await waitAtMost(MAX_UNLOCK_WAIT_MS, reconcileLocks(parts, released))
  return migration
}

function cancelInTransaction({ db, queue, now }: CancelParts, id: number, alsoWrite?: AlsoWrite) {
  // A job that ends at the same time locks the same rows in another order.
  return retryDeadlocks(() =>
    db.transaction().execute(async (tx) => {
      await endMigration({ queue, now }, tx, id, 'failed', { reason: CANCELLED })
      await queue.cancel(tx, batchOfMigration(id))
      const released = await releaseLocks(tx, id, now())
      await alsoWrite?.(tx)
      // Read here, because a failure to read after the commit would report a cancelled migration as an error.
      const summary = (await summaryById(tx, id))!
      return { migration: await migrationById(tx, id), summary, released }
    }),
  )
}
