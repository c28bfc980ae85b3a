import { Unreadable } from '@godwit/git/unreadable'
import type { Source } from '@godwit/hosts/source'
import { type FieldError, InvalidRequest } from '@godwit/lib/request-errors'
import { mapConcurrent } from '@godwit/lib/turns'
import type { Scope } from '../accounts/account.ts'
import type { AlsoWrite } from '../db/database.ts'
import { fullNameOf } from '../repositories/repository-metadata.ts'
import { type Migration, unfinishedStates } from './migration.ts'
import { fullNamesOf, repositoriesOf } from './repository-list-store.ts'
import {
  type CoverDependencies,
  NO_LONGER_COVERED,
  NothingToMigrate,
  type StartDependencies,
  startCovered,
  startMigration,
  uncoveredAmong,
} from './start-migration.ts'

export interface RetryRequest {
  /** Skip repositories that cannot be exported, even if the first migration did not. */
  allowPartial: boolean
}

/**
 * Starts a new migration of the same repositories with the same name and options. Unchanged repositories are reused. With
 * `allowPartial`, missing repositories are skipped.
 */
export async function retryMigration(
  dependencies: StartDependencies,
  scope: Scope,
  migration: Migration,
  { allowPartial }: RetryRequest,
  alsoWrite?: AlsoWrite<[Migration]>,
): Promise<Migration> {
  if (unfinishedStates.includes(migration.state)) {
    throw new InvalidRequest([
      { code: 'unprocessable', message: 'The migration has not ended yet.' },
    ])
  }
  const before = await repositoriesOf(dependencies.db, migration)
  const repositories = before.map(fullNameOf)
  const isPartial = migration.options.allowPartial || allowPartial
  const options = { ...migration.options, allowPartial: isPartial }
  const request = { repositories, name: migration.name, options }
  const onUncovered = async ({ length }: readonly string[]) =>
    length < before.length ? before : []
  try {
    return isPartial && before.length > 0
      ? await startCovered(dependencies, scope, request, { onUncovered, alsoWrite })
      : await startMigration(dependencies, scope, request, alsoWrite)
  } catch (error) {
    if (error instanceof NothingToMigrate)
      throw new InvalidRequest(error.uncovered.map(noLongerCoveredError))
    throw error instanceof InvalidRequest ? withNamesInsteadOfIndexes(error, repositories) : error
  }
}

/** The error for a repository that could be migrated before. */
const noLongerCoveredError = (fullName: string): FieldError => ({
  field: 'repositories',
  code: 'missing',
  value: fullName,
  message: `${fullName} no longer exists, or may no longer be migrated.`,
})

/** Replaces indexes by names, for a request without a list of repositories. */
export const withNamesInsteadOfIndexes = (
  { errors }: InvalidRequest,
  repositories: readonly string[],
): InvalidRequest =>
  new InvalidRequest(
    errors.map(({ index, ...error }) =>
      error.code === 'missing' && index !== undefined
        ? noLongerCoveredError(repositories[index]!)
        : error,
    ),
  )

export type RetryForecast = Awaited<ReturnType<typeof forecastRetry>>

const CONCURRENT_EXAMINATIONS = 4

/** Predicts the result of a retry by examining each repository that could not be exported the last time, or no longer exists. */
export async function forecastRetry(
  dependencies: CoverDependencies,
  scope: Scope,
  migration: Migration,
) {
  const { db, source } = dependencies
  const names = await fullNamesOf(db, migration)
  const uncovered = await uncoveredAmong(dependencies, scope, names)
  const reasons = await lastReasons(dependencies, migration)
  const affected = [...names.entries()].filter(
    ([position, fullName]) => uncovered.has(fullName) || reasons.has(position),
  )
  const options = { concurrency: CONCURRENT_EXAMINATIONS, signal: dependencies.signal }
  const broken = await mapConcurrent(affected, options, async ([position, fullName], stop) => {
    const last = uncovered.has(fullName) ? undefined : reasons.get(position)
    // Null if it no longer exists, or if this process has no source to check.
    const isChanged = last && source ? await hasChanged(source, fullName, last, stop) : null
    const reason = last?.reason ?? NO_LONGER_COVERED
    return { fullName, reason, isMissing: !last, isChanged }
  })
  // If no broken repository has changed, a retry would end in the same way.
  const isUnchanged = broken.length > 0 && broken.every((each) => each.isChanged === false)
  return { broken, isUnchanged }
}

interface LastReason {
  reason: string
  fingerprint: string | null
}

/** Returns why repositories were not exported, by position. */
async function lastReasons({ db }: CoverDependencies, { id }: Pick<Migration, 'id'>) {
  const rows = await db
    .selectFrom('repository_exports')
    .select(['position', 'reason', 'fingerprint'])
    .where('migration_id', '=', id)
    .where('reason', 'is not', null)
    .execute()
  return new Map(
    rows.map(({ position, reason, fingerprint }) => [position, { reason: reason!, fingerprint }]),
  )
}

async function hasChanged(source: Source, fullName: string, last: LastReason, signal: AbortSignal) {
  const [owner = '', name = ''] = fullName.split('/')
  try {
    const { fingerprint } = await source.examine({ owner, name }, signal)
    return fingerprint !== last.fingerprint
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return error.message.replace(`${fullName}: `, '') !== last.reason
  }
}
