import type { Migration, StartedMigration } from './migration.ts'
import { Invalid } from './refusals.ts'
import type { Scope } from './scope.ts'
import { fullNamesOf } from './snapshot-store.ts'
import { type StartParts, startMigration } from './start-migration.ts'
import { unfinishedStates } from './states.ts'

export interface RetryRequest {
  /** Skip what cannot be exported, even though the first migration did not. */
  allowPartial: boolean
}

/** A new migration of the same repositories with the same options. Whatever is unchanged since costs a look-up. */
export async function retryMigration(
  parts: StartParts,
  scope: Scope,
  migration: Migration,
  { allowPartial }: RetryRequest,
  onCommitted?: (started: Migration) => void,
): Promise<StartedMigration> {
  if (unfinishedStates.includes(migration.state)) {
    throw new Invalid([{ code: 'unprocessable', message: 'The migration has not ended yet.' }])
  }
  const repositories = await fullNamesOf(parts.db, migration)
  const { options } = migration
  const asked = {
    repositories,
    options: { ...options, allowPartial: options.allowPartial || allowPartial },
  }
  return startMigration(parts, scope, asked, onCommitted)
}
