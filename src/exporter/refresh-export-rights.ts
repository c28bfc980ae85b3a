import type { Db } from '../db/database.ts'
import { migrationOwner } from '../migrations/migration-store.ts'
import { repositoriesAt } from '../migrations/repository-list-store.ts'
import { PermanentError, RetryLater } from '../queue/queue.ts'
import { AccountRemoved, RECENT, type RightsRefresher } from '../repositories/refresh-rights.ts'
import { findByNameAsMap } from '../repositories/repository-store.ts'
import { RightsUnavailable } from '../repositories/rights-unavailable.ts'
import { refreshRepositories } from '../repositories/sync.ts'
import type { Source } from '../sources/source.ts'

export interface ExportRightsParts {
  db: Db
  source: Source
  now: () => number
  /** Updates the permissions of accounts from the forge. Undefined if no forge is configured. */
  rights: RightsRefresher | undefined
}

/**
 * Updates the permissions of the migration's owner from the forge and, if `position` is given, the facts about the repository at
 * that position of the migration. Every job that reads repositories calls this first. Does nothing if no forge is configured.
 * Throws RetryLater if the forge is unavailable, and PermanentError if the account was deleted or suspended there: another account
 * may have its login by now.
 */
export async function refreshExportRights(
  { db, source, now, rights }: ExportRightsParts,
  { migrationId, position }: { migrationId: number; position?: number },
): Promise<void> {
  if (!rights) return
  const owner = await migrationOwner(db, migrationId)
  try {
    if (owner) await rights.refresh(owner, RECENT)
    if (position === undefined) return
    const repositories = await repositoriesAt(db, migrationId, [position])
    const names = repositories.map(({ owner, name }) => ({ owner: owner.login, name }))
    await refreshRepositories({ db, source, now }, names, await findByNameAsMap(db, names))
  } catch (error) {
    if (error instanceof AccountRemoved) throw new PermanentError(error.message, { cause: error })
    if (!(error instanceof RightsUnavailable)) throw error
    throw new RetryLater(error.message, { cause: error, dueAt: error.retryAt })
  }
}
