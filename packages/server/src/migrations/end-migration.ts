import { describeMissing, isPartial } from '@godwit/contract/schemas/describe-outcome'
import { formatCount } from '@godwit/lib/quantities'
import { InvalidRequest } from '@godwit/lib/request-errors'
import { waitAtMost } from '@godwit/lib/timers'
import type { Account } from '../accounts/account.ts'
import { retryDeadlocks } from '../db/connect.ts'
import type { AlsoWrite, Db } from '../db/database.ts'
import type { Queue } from '../queue/queue.ts'
import { recordEvent } from '../webhooks/record-event.ts'
import type { MigrationAction } from '../webhooks/webhook-store.ts'
import { changeState, type MigrationEnd, migrationById } from './export-store.ts'
import { releaseLocks } from './lock-store.ts'
import { type LockDependencies, reconcileLocks } from './locks.ts'
import {
  batchOfMigration,
  CANCELLED,
  type ExportTask,
  InvalidStateChange,
  type Migration,
} from './migration.ts'
import { readColumns } from './migration-store.ts'
import { fullNameAt } from './repository-list-store.ts'
import { type Summary, summaryById } from './summaries.ts'

/** The subject of a webhook event about a migration that has ended. */
export interface EndedMigration {
  summary: Summary
  /** The person who started it. */
  startedBy: Account
}

/**
 * Ends the migration, and records the event for the webhooks of its owner in the same transaction. Throws InvalidStateChange as
 * `changeState` does.
 */
export async function endMigration(
  dependencies: { queue: Queue; now: () => number },
  tx: Db,
  id: number,
  to: 'exported' | 'failed',
  end: MigrationEnd = {},
): Promise<void> {
  await changeState(tx, id, to, { now: dependencies.now(), ...end })
  const accounts = await readColumns(tx, id, ['owner', 'started_by'])
  const owner = JSON.parse(accounts.owner) as Account
  await recordEvent(dependencies, tx, { owner }, async () => {
    const summary = (await summaryById(tx, id))!
    const startedBy = accounts.started_by ? (JSON.parse(accounts.started_by) as Account) : owner
    const action: MigrationAction = endOf(summary).end
    const subject: EndedMigration = { summary, startedBy }
    return { event: 'migration', action, subject }
  })
}

/** The log for operators. */
export interface OutcomeLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

interface LogDependencies {
  db: Db
  log: OutcomeLog
}

/** Logs the end of a migration if it ended for this reason. */
export async function logOutcome({ db, log }: LogDependencies, id: number, reason: string | null) {
  const ended = await summaryById(db, id)
  if (ended?.reason === reason) logEndedMigration(log, ended)
}

/** Logs the end of a migration. Repositories that could not be exported are logged by `logNotExported`. */
function logEndedMigration(log: OutcomeLog, migration: Summary): void {
  const { id, guid, owner, startedAt, endedAt, bytesDone } = migration
  const { total, ...ends } = migration.repositories
  const seconds = startedAt === null || endedAt === null ? null : (endedAt - startedAt) / 1000
  const counts = { repositories: total, ...ends, bytes: bytesDone, seconds }
  const { level, end, message } = endOf(migration)
  const fields = { migration: id, guid, login: owner.login, ...counts, end }
  log[level](fields, `migration ${id} of ${owner.login} ${message}`)
}

function endOf(migration: Summary) {
  const { total, exported, failed } = migration.repositories
  const all = formatCount(total, 'repository')
  if (isPartial(migration)) {
    const message = `is partly exported: ${exported} of ${all}, ${describeMissing(migration.repositories)}`
    return { level: 'warn', end: 'partial', message } as const
  }
  if (migration.state === 'exported')
    return { level: 'info', end: 'exported', message: `is exported: ${all}` } as const
  if (migration.reason === CANCELLED)
    return { level: 'info', end: 'cancelled', message: 'was cancelled' } as const
  // The reason of each repository was logged when it ended.
  const why = failed === 0 ? migration.reason : `${failed} of ${all} could not be exported`
  return { level: 'error', end: 'failed', message: `failed: ${why}` } as const
}

export async function logNotExported(
  { db, log }: LogDependencies,
  { migrationId, position }: ExportTask,
  reason: string,
): Promise<void> {
  const repository = await fullNameAt(db, migrationId, position)
  const fields = { migration: migrationId, repository, reason }
  log.warn(fields, `${repository} could not be exported: ${reason}`)
}

export interface CancelDependencies extends LockDependencies {
  log: OutcomeLog
}

/** How long a cancellation waits until the released locks are removed at the source. Housekeeping finishes it. */
const MAX_UNLOCK_WAIT_MS = 1000

/** Ends the migration as failed. Running jobs are aborted and cannot write any more; finished segments stay. */
export async function cancelMigration(
  dependencies: CancelDependencies,
  { id }: Migration,
  alsoWrite?: AlsoWrite,
): Promise<Migration> {
  const { queue } = dependencies
  const { migration, summary, released } = await cancelInTransaction(
    dependencies,
    id,
    alsoWrite,
  ).catch((error: unknown) => {
    if (!(error instanceof InvalidStateChange)) throw error
    throw new InvalidRequest([
      { code: 'unprocessable', message: 'The migration has already ended.' },
    ])
  })
  queue.interrupt(batchOfMigration(id))
  queue.wake()
  logEndedMigration(dependencies.log, summary)
  await waitAtMost(MAX_UNLOCK_WAIT_MS, reconcileLocks(dependencies, released))
  return migration
}

function cancelInTransaction(
  { db, queue, now }: CancelDependencies,
  id: number,
  alsoWrite?: AlsoWrite,
) {
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
