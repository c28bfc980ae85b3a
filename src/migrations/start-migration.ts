import { randomUUID } from 'node:crypto'
import { type Account, keyOf } from '../accounts/account.ts'
import type { Scope } from '../accounts/scope.ts'
import type { Db } from '../db/database.ts'
import { isName } from '../lib/names.ts'
import type { Queue } from '../queue/queue.ts'
import { administeredOrganizations } from '../repositories/administered-repositories.ts'
import { fullNameOf, mayAdminister, type RepositoryFacts } from '../repositories/facts.ts'
import { factsForViewer, factsWithheld } from '../repositories/facts-for-viewer.ts'
import { readableAmong } from '../repositories/readable-repositories.ts'
import { FRESH, type RightsRefresher } from '../repositories/refresh-rights.ts'
import {
  type CatalogueEntry,
  findCatalogued,
  keyOfName,
  rolesOf,
} from '../repositories/repository-store.ts'
import { refreshRepositories } from '../repositories/sync.ts'
import type { RepositoryName, Source } from '../sources/source.ts'
import { type Fault, InvalidRequest } from './errors.ts'
import { insertLocks } from './lock-store.ts'
import { lockEarly, refuseUnlockable } from './locks.ts'
import {
  BEGIN_EXPORT,
  batchOf,
  type Migration,
  type MigrationOptions,
  type StartedMigration,
} from './migration.ts'
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

export interface CoverParts {
  db: Db
  /** Absent where the repositories are not at hand; the catalogue is then taken as it is. */
  source: Source | undefined
  /** Absent where there is no forge to ask. */
  rights?: RightsRefresher | undefined
  now: () => number
  /** Ends the work, as long as nothing is written: whoever asked is gone. */
  signal?: AbortSignal | undefined
}

/** Whether it exists for others is not told. */
export const NO_LONGER_COVERED = 'it no longer exists, or may no longer be migrated'

export const isOrganization = ({ type }: Account): boolean => type === 'Organization'

export function parseName(text: string, { owner: own }: Scope): RepositoryName | undefined {
  const parts = text.split('/')
  if (parts.length > 2 || !parts.every(isName)) return undefined
  const [owner, name] = parts.length === 2 ? parts : [own.login, text]
  return { owner: owner!, name: name! }
}

/** Those of the named repositories that the scope covers, with fresh facts where the source is at hand. */
export async function coveredEntries(
  parts: CoverParts,
  scope: Scope,
  names: RepositoryName[],
): Promise<Map<string, CatalogueEntry>> {
  await parts.rights?.refresh(scope.owner, FRESH, names)
  parts.signal?.throwIfAborted()
  const known = await findCatalogued(parts.db, names)
  const entries = await coveredBy(parts.db, scope, known)
  if (!parts.source) return entries
  // A repository made since the last sync is found too, where it would be the caller's own.
  const mine = names.filter(
    (name) => keyOf(name.owner) === keyOf(scope.owner.login) || entries.has(keyOfName(name)),
  )
  const isChanged = await refreshRepositories({ ...parts, source: parts.source }, mine, known)
  if (!isChanged) return entries
  return coveredBy(parts.db, scope, await findCatalogued(parts.db, names))
}

/** Those of some full names that the scope does not cover, as a start would find. */
export async function uncoveredAmong(
  parts: CoverParts,
  scope: Scope,
  fullNames: readonly string[],
): Promise<Set<string>> {
  if (fullNames.length === 0) return new Set()
  const names = fullNames.map((fullName) => {
    const [owner = '', name = ''] = fullName.split('/')
    return { owner, name }
  })
  const entries = await coveredEntries(parts, scope, names)
  return new Set(fullNames.filter((fullName) => !entries.has(keyOf(fullName))))
}

/** A person's are those that they own or administer; an organization's are its own. */
async function coveredBy(
  db: Db,
  { owner }: Scope,
  known: ReadonlyMap<string, CatalogueEntry>,
): Promise<Map<string, CatalogueEntry>> {
  const roles = await rolesOf(db, { account: owner }, [...known.values()])
  const isCovered = (entry: CatalogueEntry): boolean =>
    isOrganization(owner)
      ? entry.owner.id === owner.id
      : mayAdminister(roles.get(entry.id) ?? 'none')
  return new Map([...known].filter(([, entry]) => isCovered(entry)))
}

export const factsOfCovered = (
  { db }: CoverParts,
  { owner }: Scope,
  names: readonly RepositoryName[],
  entries: ReadonlyMap<string, CatalogueEntry>,
): Promise<RepositoryFacts[]> =>
  factsForViewer(
    db,
    { account: owner },
    names.map((name) => entries.get(keyOfName(name))!),
  )
