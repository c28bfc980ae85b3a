import type { Db } from '../db/database.ts'
import type { ExportTask } from './export-store.ts'
import { fullNameAt } from './snapshot-store.ts'
import { CANCELLED } from './states.ts'
import { isPartial, type Summary, summaryById } from './summaries.ts'

/** Where an operator reads what became of things. */
export interface EndLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

interface TellParts {
  db: Db
  log: EndLog
}

/** One line for a migration that has ended for this reason; nothing where something else has ended it before. */
export async function tellEnd(
  { db, log }: TellParts,
  id: number,
  reason: string | null,
): Promise<void> {
  const ended = await summaryById(db, id)
  if (ended?.reason === reason) tell(log, ended)
}

/** Its repositories that could not be exported have lines of their own. */
function tell(log: EndLog, migration: Summary): void {
  const { id, guid, owner, state, reason, startedAt, endedAt, bytesDone } = migration
  const { total, exported, reused, skipped } = migration.repositories
  const seconds = startedAt === null || endedAt === null ? null : (endedAt - startedAt) / 1000
  const counts = { repositories: total, exported, reused, skipped, bytes: bytesDone, seconds }
  const fields = { migration: id, guid, login: owner.login, ...counts }
  const name = `migration ${id} of ${owner.login}`
  if (isPartial(migration)) {
    const some = `${exported} of ${inAll(total)}, ${skipped} skipped`
    return log.warn({ ...fields, end: 'partial' }, `${name} is exported in part: ${some}`)
  }
  if (state === 'exported') {
    return log.info({ ...fields, end: 'exported' }, `${name} is exported: ${inAll(total)}`)
  }
  if (reason === CANCELLED) {
    return log.info({ ...fields, end: 'cancelled' }, `${name} was cancelled`)
  }
  // What each of them lacked was told when it ended.
  const why = skipped === 0 ? reason : `${skipped} of ${inAll(total)} could not be exported`
  log.error({ ...fields, end: 'failed' }, `${name} failed: ${why}`)
}

const inAll = (total: number): string => `${total} ${total === 1 ? 'repository' : 'repositories'}`

/** The same for a repository that could not be exported. */
export async function tellNotExported(
  { db, log }: TellParts,
  { migrationId, position }: ExportTask,
  reason: string,
): Promise<void> {
  const repository = await fullNameAt(db, migrationId, position)
  const fields = { migration: migrationId, repository, reason }
  log.warn(fields, `${repository} could not be exported: ${reason}`)
}
