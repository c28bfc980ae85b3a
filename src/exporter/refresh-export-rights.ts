import type { Db } from '../db/database.ts'
import { migrationOwner } from '../migrations/migration-store.ts'
import { repositoryAt } from '../migrations/snapshot-store.ts'
import { PermanentError, RetryLater } from '../queue/queue.ts'
import { AccountRemoved, RECENT, type RightsRefresher } from '../repositories/refresh-rights.ts'
import { findByNameAsMap } from '../repositories/repository-store.ts'
import { RightsUnavailable } from '../repositories/rights-unavailable.ts'
import { refreshRepositories } from '../repositories/sync.ts'
import type { Source } from '../sources/source.ts'

export interface RightsParts {
  db: Db
  source: Source
  now: () => number
  /** What accounts may do on the forge; undefined without a forge. */
  rights: RightsRefresher | undefined
}

/**
 * The first step of every job that reads repositories: asks the forge what the owner of the migration may do now and, if the
 * job has a position, what the forge says about that repository. Does nothing without a forge. Throws RetryLater if the forge
 * is unreachable, and PermanentError if it has removed the account: its names may belong to somebody else by now.
 */
export async function refreshExportRights(
  { db, source, now, rights }: RightsParts,
  { migrationId, position }: { migrationId: number; position?: number },
): Promise<void> {
  if (!rights) return
  const owner = await migrationOwner(db, migrationId)
  try {
    if (owner) await rights.refresh(owner, RECENT)
    if (position === undefined) return
    const facts = await repositoryAt(db, migrationId, position)
    const names = [{ owner: facts.owner.login, name: facts.name }]
    await refreshRepositories({ db, source, now }, names, await findByNameAsMap(db, names))
  } catch (error) {
    if (error instanceof AccountRemoved) throw new PermanentError(error.message, { cause: error })
    if (!(error instanceof RightsUnavailable)) throw error
    throw new RetryLater(error.message, { cause: error, dueAt: error.retryAt })
  }
}
