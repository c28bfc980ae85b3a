import type { Scope } from '../accounts/scope.ts'
import { fullNameOf } from '../repositories/facts.ts'
import { InvalidRequest } from './errors.ts'
import { faultByName, gone } from './faults-by-name.ts'
import type { Migration, StartedMigration } from './migration.ts'
import { repositoriesOf } from './snapshot-store.ts'
import { NothingToMigrate, type StartParts, startAgain, startMigration } from './start-migration.ts'
import { unfinishedStates } from './states.ts'

export interface RetryRequest {
  /** Skip what cannot be exported, even though the first migration did not. */
  allowPartial: boolean
}

/**
 * A new migration of the same repositories with the same options. Whatever is unchanged since costs a look-up. A partial one
 * skips those that are gone.
 */
export async function retryMigration(
  parts: StartParts,
  scope: Scope,
  migration: Migration,
  { allowPartial }: RetryRequest,
  onCommitted?: (started: Migration) => void,
): Promise<StartedMigration> {
  if (unfinishedStates.includes(migration.state)) {
    throw new InvalidRequest([
      { code: 'unprocessable', message: 'The migration has not ended yet.' },
    ])
  }
  const before = await repositoriesOf(parts.db, migration)
  const repositories = before.map(fullNameOf)
  const isPartial = migration.options.allowPartial || allowPartial
  const options = { ...migration.options, allowPartial: isPartial }
  try {
    return isPartial && before.length > 0
      ? await startAgain(parts, scope, { before, options }, { ...(onCommitted && { onCommitted }) })
      : await startMigration(parts, scope, { repositories, options }, onCommitted)
  } catch (error) {
    if (error instanceof NothingToMigrate) throw new InvalidRequest(error.uncovered.map(gone))
    throw error instanceof InvalidRequest ? faultByName(error, repositories) : error
  }
}
