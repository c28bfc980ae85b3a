import type { Db } from '../db/database.ts'
import { describeMissing, isPartial } from '../lib/describe-outcome.ts'
import { formatCount } from '../lib/quantities.ts'
import { CANCELLED, type ExportTask } from './migration.ts'
import { fullNameAt } from './repository-list-store.ts'
import { type Summary, summaryById } from './summaries.ts'

/** The log for operators. */
export interface OutcomeLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

interface LogParts {
  db: Db
  log: OutcomeLog
}

/** Logs the end of a migration if it ended for this reason. */
export async function logOutcome({ db, log }: LogParts, id: number, reason: string | null) {
  const ended = await summaryById(db, id)
  if (ended?.reason === reason) logEndedMigration(log, ended)
}

/** Logs the end of a migration. Repositories that could not be exported are logged by `logNotExported`. */
export function logEndedMigration(log: OutcomeLog, migration: Summary): void {
  const { id, guid, owner, startedAt, endedAt, bytesDone } = migration
  const { total, ...ends } = migration.repositories
  const seconds = startedAt === null || endedAt === null ? null : (endedAt - startedAt) / 1000
  const counts = { repositories: total, ...ends, bytes: bytesDone, seconds }
  const { level, end, message } = endOf(migration)
  const fields = { migration: id, guid, login: owner.login, ...counts, end }
  log[level](fields, `migration ${id} of ${owner.login} ${message}`)
}

export function endOf(migration: Summary) {
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
  { db, log }: LogParts,
  { migrationId, position }: ExportTask,
  reason: string,
): Promise<void> {
  const repository = await fullNameAt(db, migrationId, position)
  const fields = { migration: migrationId, repository, reason }
  log.warn(fields, `${repository} could not be exported: ${reason}`)
}
