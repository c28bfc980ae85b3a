import { randomUUID } from 'node:crypto'
import { type Account, keyOf } from '../accounts/account.ts'
import type { Scope } from '../accounts/scope.ts'
import type { Db } from '../db/database.ts'
import { isName } from '../ground/names.ts'
import type { Queue } from '../queue/queue.ts'
import { administeredOrganizations } from '../repositories/administered-repositories.ts'
import { mayAdminister, type RepositoryFacts } from '../repositories/facts.ts'
import { factsForViewer } from '../repositories/facts-for-viewer.ts'
import { ASKED_NOW, type RightsRefresher } from '../repositories/refresh-rights.ts'
import {
  type CatalogueEntry,
  findCatalogued,
  keyOfName,
  rolesOf,
} from '../repositories/repository-store.ts'
import { refreshRepositories } from '../repositories/sync.ts'
import type { RepositoryName, Source } from '../sources/source.ts'
import { BEGIN_EXPORT, batchOf } from './export-jobs.ts'
import { insertLocks } from './lock-store.ts'
import { lockEarly, refuseUnlockable } from './locks.ts'
import type { Migration, MigrationOptions, StartedMigration } from './migration.ts'
import { countUnfinished, insertMigration, lockScope } from './migration-store.ts'
import { type Fault, Invalid } from './refusals.ts'

export interface StartParts {
  db: Db
  queue: Queue
  /** Absent where the repositories are not at hand; the catalogue is then taken as it is. */
  source: Source | undefined
  /** Absent where there is no forge to ask. */
  rights?: RightsRefresher | undefined
  now: () => number
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
export class NoneCovered extends Error {
  override name = 'NoneCovered'
  readonly uncovered: readonly string[]

  constructor(uncovered: readonly string[]) {
    super('no repository is left')
    this.uncovered = uncovered
  }
}

/**
 * The same for repositories that were covered once: goes on with those that still are. `onSkipped` is told the others before
 * anything is written; where none is left it throws NoneCovered.
 */
export async function startCovered(
  parts: StartParts,
  scope: Scope,
  { repositories, options }: StartRequest,
  { onSkipped, ...steps }: StartSteps & { onSkipped(uncovered: readonly string[]): void },
): Promise<StartedMigration> {
  if (options.orgMetadataOnly) return begin(parts, scope, { snapshot: [], options }, steps)
  const names = repositories.flatMap((text) => parseName(text, scope) ?? [])
  const entries = await covered(parts, scope, names)
  const left = names.filter((name) => entries.has(keyOfName(name)))
  const gone = names.filter((name) => !entries.has(keyOfName(name)))
  const uncovered = gone.map(({ owner, name }) => `${owner}/${name}`)
  if (left.length === 0) throw new NoneCovered(uncovered)
  onSkipped(uncovered)
  const snapshot = await factsOf(parts, scope, left, entries)
  return begin(parts, scope, { snapshot, options }, steps)
}

interface Begun {
  snapshot: RepositoryFacts[]
  options: MigrationOptions
}

async function begin(
  parts: StartParts,
  scope: Scope,
  { snapshot, options }: Begun,
  { alsoWrite, onCommitted }: StartSteps,
): Promise<StartedMigration> {
  const { db, queue, now } = parts
  const { orgMetadataOnly, lockRepositories } = options
  if (lockRepositories) await refuseUnlockable(parts.source, snapshot)
  const organizations = orgMetadataOnly ? await organizationsIn(parts, scope) : null
  const migration = await db.transaction().execute(async (tx) => {
    await lockScope(tx, scope)
    if ((await countUnfinished(tx, scope)) >= parts.maxUnfinished) {
      throw new Invalid([
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
        snapshot.map(({ id }) => id),
        times,
      )
    }
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

const isOrganization = ({ type }: Account): boolean => type === 'Organization'

async function organizationsIn({ db, rights }: StartParts, { owner }: Scope): Promise<Account[]> {
  if (isOrganization(owner)) return [owner]
  await rights?.refresh(owner, ASKED_NOW)
  return administeredOrganizations(db, owner)
}

/** The named repositories as they are now, in order. Refuses what the scope does not cover, each by its index. */
export async function snapshotOf(
  parts: StartParts,
  scope: Scope,
  asked: string[],
): Promise<RepositoryFacts[]> {
  if (asked.length === 0) throw new Invalid([{ field: 'repositories', code: 'missing_field' }])
  const names = asked.map((text) => parseName(text, scope))
  refuse(names, (name) => name === undefined, 'invalid')
  const wellFormed = names as RepositoryName[]
  const firstIndex = new Map(wellFormed.map((name, i) => [keyOfName(name), i] as const).reverse())
  refuse(wellFormed, (name, i) => firstIndex.get(keyOfName(name)) !== i, 'already_exists')

  const entries = await covered(parts, scope, wellFormed)
  // Someone else's repository and one that does not exist get the same answer.
  refuse(wellFormed, (name) => !entries.has(keyOfName(name)), 'missing')
  return factsOf(parts, scope, wellFormed, entries)
}

const factsOf = (
  { db }: StartParts,
  { owner }: Scope,
  names: readonly RepositoryName[],
  entries: ReadonlyMap<string, CatalogueEntry>,
): Promise<RepositoryFacts[]> =>
  factsForViewer(
    db,
    { account: owner },
    names.map((name) => entries.get(keyOfName(name))!),
  )

function parseName(text: string, { owner: own }: Scope): RepositoryName | undefined {
  const parts = text.split('/')
  if (parts.length > 2 || !parts.every(isName)) return undefined
  const [owner, name] = parts.length === 2 ? parts : [own.login, text]
  return { owner: owner!, name: name! }
}

function refuse<T>(
  names: T[],
  isWrong: (name: T, index: number) => boolean,
  code: Fault['code'],
): void {
  const faults = names.flatMap((name, index) =>
    isWrong(name, index) ? [{ field: 'repositories', code, index }] : [],
  )
  if (faults.length > 0) throw new Invalid(faults)
}

/** Those of the named repositories that the scope covers, with fresh facts where the source is at hand. */
async function covered(
  parts: StartParts,
  scope: Scope,
  names: RepositoryName[],
): Promise<Map<string, CatalogueEntry>> {
  await parts.rights?.refresh(scope.owner, ASKED_NOW, names)
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
