import { randomUUID } from 'node:crypto'
import { type Account, keyOf } from '../accounts/account.ts'
import type { Scope } from '../accounts/scope.ts'
import type { Db } from '../db/database.ts'
import type { Queue } from '../queue/queue.ts'
import { administeredOrganizations } from '../repositories/administered-repositories.ts'
import { fullNameOf, type RepositoryFacts } from '../repositories/facts.ts'
import { factsWithheld } from '../repositories/facts-for-viewer.ts'
import { readableAmong } from '../repositories/readable-repositories.ts'
import { FRESH } from '../repositories/refresh-rights.ts'
import { keyOfName } from '../repositories/repository-store.ts'
import type { RepositoryName } from '../sources/source.ts'
import {
  type CoverParts,
  coveredEntries,
  factsOfCovered,
  isOrganization,
  NO_LONGER_COVERED,
  parseName,
} from './covered-repositories.ts'
import { type Fault, InvalidRequest } from './errors.ts'
import { BEGIN_EXPORT, batchOf } from './export-jobs.ts'
import { insertLocks } from './lock-store.ts'
import { lockEarly, refuseUnlockable } from './locks.ts'
import type { Migration, MigrationOptions, StartedMigration } from './migration.ts'
import { countUnfinished, insertMigration, lockScope } from './migration-store.ts'
import { recordSkipped } from './outcome-store.ts'

export interface StartParts extends CoverParts {
  queue: Queue
  maxUnfinished: number
  lockTtlMs: number
}

export interface StartRequest {
  /** `owner/name`, or the bare name of one of the scope's own. */
  repositories: string[]
  options: MigrationOptions
}

/**
 * Takes a snapshot of what is known of each repository, and with that the migration exists: its locks and its export are
 * written down in the same transaction. All of it or nothing.
 */
export async function startMigration(
  parts: StartParts,
  scope: Scope,
  { repositories, options }: StartRequest,
  onCommitted: (started: Migration) => void = () => {},
): Promise<StartedMigration> {
  const snapshot = options.orgMetadataOnly ? [] : await snapshotOf(parts, scope, repositories)
  return begin(parts, scope, { snapshot, options }, { onCommitted })
}

/** What else belongs to a start. */
export interface StartSteps {
  /** In the same transaction; where it throws, there is no migration. */
  alsoWrite?(tx: Db, started: Migration): Promise<void>
  onCommitted?(started: Migration): void
}

/** None of the repositories is covered any more. */
export class NothingToMigrate extends Error {
  override name = 'NothingToMigrate'
  readonly uncovered: readonly string[]

  constructor(uncovered: readonly string[]) {
    super('no repository is left')
    this.uncovered = uncovered
  }
}

export interface CoveredSteps extends StartSteps {
  /**
   * Is told the names that are no longer covered before anything is written. Returns the facts of those that the migration is to list
   * as skipped, so that whoever looks at it or at its archive sees that they are not in it.
   */
  onUncovered(uncovered: readonly string[]): Promise<readonly RepositoryFacts[]>
}

/**
 * The same for repositories that were covered once: goes on with those that still are. Throws NothingToMigrate where none is left and none
 * is to be listed.
 */
export async function startCovered(
  parts: StartParts,
  scope: Scope,
  { repositories, options }: StartRequest,
  { onUncovered, ...steps }: CoveredSteps,
): Promise<StartedMigration> {
  if (options.orgMetadataOnly) return begin(parts, scope, { snapshot: [], options }, steps)
  const names = repositories.flatMap((text) => parseName(text, scope) ?? [])
  const entries = await coveredEntries(parts, scope, names)
  const left = names.filter((name) => entries.has(keyOfName(name)))
  const gone = names.filter((name) => !entries.has(keyOfName(name)))
  const uncovered = gone.map(({ owner, name }) => `${owner}/${name}`)
  const listed = await shownOf(parts, scope, await onUncovered(uncovered))
  if (left.length === 0 && listed.length === 0) throw new NothingToMigrate(uncovered)
  const snapshot = await factsOfCovered(parts, scope, left, entries)
  const skipped = new Set(listed.map((_, at) => snapshot.length + at))
  return begin(parts, scope, { snapshot: [...snapshot, ...listed], skipped, options }, steps)
}

/** Facts of repositories as they were, without what the owner of the scope may no longer read. */
async function shownOf(
  { db }: StartParts,
  { owner }: Scope,
  before: readonly RepositoryFacts[],
): Promise<RepositoryFacts[]> {
  const ids = before.map(({ id }) => id)
  const readable = await readableAmong(db, owner.id, ids)
  return before.map((facts) => (readable.has(facts.id) ? facts : factsWithheld(facts)))
}

/**
 * The same for the repositories of a migration, of which those that are no longer covered keep their places: skipped with a reason,
 * so that whoever looks at the new one or at its archive sees that they are not in it.
 */
export async function startAgain(
  parts: StartParts,
  scope: Scope,
  { before, options }: { before: readonly RepositoryFacts[]; options: MigrationOptions },
  steps: StartSteps,
): Promise<StartedMigration> {
  const names = before.map(({ owner, name }) => ({ owner: owner.login, name }))
  const entries = await coveredEntries(parts, scope, names)
  const left = names.filter((name) => entries.has(keyOfName(name)))
  if (left.length === 0) throw new NothingToMigrate(before.map(fullNameOf))
  const fresh = await factsOfCovered(parts, scope, left, entries)
  const current = new Map(fresh.map((facts) => [keyOf(fullNameOf(facts)), facts]))
  const skipped = new Set<number>()
  const shown = await shownOf(parts, scope, before)
  const snapshot = before.map((facts, position) => {
    const covered = current.get(keyOf(fullNameOf(facts)))
    if (covered) return covered
    skipped.add(position)
    return shown[position]!
  })
  return begin(parts, scope, { snapshot, skipped, options }, steps)
}

interface Begun {
  snapshot: RepositoryFacts[]
  /** The positions of those that it begins without. */
  skipped?: ReadonlySet<number>
  options: MigrationOptions
}

async function begin(
  parts: StartParts,
  scope: Scope,
  { snapshot, skipped = new Set(), options }: Begun,
  { alsoWrite, onCommitted }: StartSteps,
): Promise<StartedMigration> {
  const { db, queue, now } = parts
  const { orgMetadataOnly, lockRepositories } = options
  const toExport = snapshot.filter((_, position) => !skipped.has(position))
  if (lockRepositories) await refuseUnlockable(parts, toExport)
  const organizations = orgMetadataOnly ? await organizationsToMigrate(parts, scope) : null
  parts.signal?.throwIfAborted()
  const migration = await db.transaction().execute(async (tx) => {
    await lockScope(tx, scope)
    if ((await countUnfinished(tx, scope)) >= parts.maxUnfinished) {
      throw new InvalidRequest([
        { code: 'custom', message: tooManyUnfinished(scope, parts.maxUnfinished) },
      ])
    }
    const started = await insertMigration(tx, {
      guid: randomUUID(),
      owner: scope.owner,
      startedBy: scope.by ?? scope.owner,
      options,
      repositories: snapshot,
      organizations,
      now: now(),
    })
    if (lockRepositories) {
      const times = { lockedAt: now(), expiresAt: now() + parts.lockTtlMs }
      await insertLocks(
        tx,
        started.id,
        toExport.map(({ id }) => id),
        times,
      )
    }
    await recordSkipped(tx, started.id, [...skipped], NO_LONGER_COVERED, now())
    await queue.enqueue(tx, BEGIN_EXPORT, [{ migrationId: started.id }], batchOf(started.id))
    await alsoWrite?.(tx, started)
    return started
  })
  onCommitted?.(migration)
  queue.wake('jobs')
  if (lockRepositories) await lockEarly(parts, migration.id)
  return { ...migration, repositories: snapshot }
}

const tooManyUnfinished = ({ owner }: Scope, max: number): string =>
  `${isOrganization(owner) ? `${owner.login} already has` : 'You already have'} ${max} unfinished migrations. ` +
  'Wait until one of them has ended.'

async function organizationsToMigrate(
  { db, rights }: StartParts,
  { owner }: Scope,
): Promise<Account[]> {
  if (isOrganization(owner)) return [owner]
  await rights?.refresh(owner, FRESH)
  return administeredOrganizations(db, owner)
}

/** The named repositories as they are now, in order. Refuses what the scope does not cover, each by its index. */
export async function snapshotOf(
  parts: StartParts,
  scope: Scope,
  asked: string[],
): Promise<RepositoryFacts[]> {
  if (asked.length === 0)
    throw new InvalidRequest([{ field: 'repositories', code: 'missing_field' }])
  const names = asked.map((text) => parseName(text, scope))
  refuse(names, (name) => name === undefined, 'invalid')
  const wellFormed = names as RepositoryName[]
  const firstIndex = new Map(wellFormed.map((name, i) => [keyOfName(name), i] as const).reverse())
  refuse(wellFormed, (name, i) => firstIndex.get(keyOfName(name)) !== i, 'already_exists')

  const entries = await coveredEntries(parts, scope, wellFormed)
  // Someone else's repository and one that does not exist get the same answer.
  refuse(wellFormed, (name) => !entries.has(keyOfName(name)), 'missing')
  return factsOfCovered(parts, scope, wellFormed, entries)
}

function refuse<T>(
  names: T[],
  isWrong: (name: T, index: number) => boolean,
  code: Fault['code'],
): void {
  const faults = names.flatMap((name, index) =>
    isWrong(name, index) ? [{ field: 'repositories', code, index }] : [],
  )
  if (faults.length > 0) throw new InvalidRequest(faults)
}
