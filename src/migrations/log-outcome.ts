import type { Db } from '../db/database.ts'
import { isPartial } from '../lib/is-partial.ts'
import { CANCELLED, type ExportTask } from './migration.ts'
import { fullNameAt } from './snapshot-store.ts'
import { type Summary, summaryById } from './summaries.ts'

/** Where an operator reads what became of things. */
export interface OutcomeLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

interface TellParts {
  db: Db
  log: OutcomeLog
}

/** One line for a migration that has ended for this reason; nothing where something else has ended it before. */
export async function logOutcome(
  { db, log }: TellParts,
  id: number,
  reason: string | null,
): Promise<void> {
  const ended = await summaryById(db, id)
  if (ended?.reason === reason) logEndedMigration(log, ended)
}

/** The same of one that is known to have ended. Its repositories that could not be exported have lines of their own. */
export function logEndedMigration(log: OutcomeLog, migration: Summary): void {
  const { id, guid, owner, startedAt, endedAt, bytesDone } = migration
  const { total, ...ends } = migration.repositories
  const seconds = startedAt === null || endedAt === null ? null : (endedAt - startedAt) / 1000
  const counts = { repositories: total, ...ends, bytes: bytesDone, seconds }
  const { level, end, words } = endOf(migration)
  const fields = { migration: id, guid, login: owner.login, ...counts, end }
  log[level](fields, `migration ${id} of ${owner.login} ${words}`)
}

export interface End {
  level: keyof OutcomeLog
  end: 'exported' | 'partial' | 'failed' | 'cancelled'
  words: string
}

/** How it ended, and how that is told. */
export function endOf(migration: Summary): End {
  const { total, exported, skipped, failed } = migration.repositories
  if (isPartial(migration)) {
    const words = `is exported in part: ${exported} of ${inAll(total)}, ${skipped} skipped`
    return { level: 'warn', end: 'partial', words }
  }
  if (migration.state === 'exported')
    return { level: 'info', end: 'exported', words: `is exported: ${inAll(total)}` }
  if (migration.reason === CANCELLED)
    return { level: 'info', end: 'cancelled', words: 'was cancelled' }
  // What each of them lacked was told when it ended.
  const why = failed === 0 ? migration.reason : `${failed} of ${inAll(total)} could not be exported`
  return { level: 'error', end: 'failed', words: `failed: ${why}` }
}

const inAll = (total: number): string => `${total} ${total === 1 ? 'repository' : 'repositories'}`

/** The same for a repository that could not be exported. */
export async function logNotExported(
  { db, log }: TellParts,
  { migrationId, position }: ExportTask,
  reason: string,
): Promise<void> {
  const repository = await fullNameAt(db, migrationId, position)
  const fields = { migration: migrationId, repository, reason }
  log.warn(fields, `${repository} could not be exported: ${reason}`)
}
