import { randomUUID } from 'node:crypto'
import type { RepositoryName, Source } from '@godwit/hosts/source'
import { isName, parseFullName } from '@godwit/lib/names'
import { InvalidRequest, refuseRepositories } from '@godwit/lib/request-errors'
import { type Account, nameKey, type Scope } from '../accounts/account.ts'
import type { AlsoWrite, Db } from '../db/database.ts'
import type { Queue } from '../queue/queue.ts'
import {
  administeredOrganizations,
  affiliations,
  listAdministered,
} from '../repositories/administered-repositories.ts'
import { FRESH, type PermissionsRefresher, RECENT } from '../repositories/refresh-permissions.ts'
import {
  fullNameOf,
  mayAdminister,
  type RepositoryMetadata,
} from '../repositories/repository-metadata.ts'
import {
  findByNameAsMap,
  type IndexedRepository,
  keyOfName,
  rolesOf,
} from '../repositories/repository-store.ts'
import { refreshRepositories } from '../repositories/sync.ts'
import {
  metadataForViewer,
  readableAmong,
  withheldMetadata,
} from '../repositories/visible-repository.ts'
import { insertLocks } from './lock-store.ts'
import { lockEarly, requireLockable } from './locks.ts'
import {
  BEGIN_EXPORT,
  batchOfMigration,
  type Migration,
  type MigrationOptions,
} from './migration.ts'
import { countUnfinished, insertMigration, lockScope } from './migration-store.ts'
import { recordNotExported } from './outcome-store.ts'
import { requireQuota } from './quota.ts'

export interface StartDependencies extends CoverDependencies {
  queue: Queue
  maxUnfinished: number
  lockTtlMs: number
  /** The quota of archives of owners without one of their own; none by default. */
  maxArchiveBytes?: number | undefined
  /** Rejects if the data of an export cannot be written at the moment. Absent if this process does not store it. */
  probeData?: (() => Promise<void>) | undefined
}

/** The data directory is not writable, so nothing could be exported. The cause is the error of the disk. */
export class DataNotWritable extends Error {
  override name = 'DataNotWritable'
}

export interface StartRequest {
  /** `owner/name`, or the name of one of the scope's own repositories. */
  repositories: string[]
  name?: string | null
  options: MigrationOptions
}

/**
 * Inserts the migration with its repository list, its locks and its first job, in one transaction. Throws InvalidRequest, or
 * DataNotWritable. The caller
 * wakes the queue: the export of very many repositories would delay a response about its start.
 */
export async function startMigration(
  dependencies: StartDependencies,
  scope: Scope,
  { repositories, ...rest }: StartRequest,
  alsoWrite?: AlsoWrite<[Migration]>,
): Promise<Migration> {
  const { orgMetadataOnly } = rest.options
  const list = orgMetadataOnly ? [] : await readRepositoryList(dependencies, scope, repositories)
  return insertAndStart(dependencies, scope, { list, ...rest }, alsoWrite)
}

/** The scope covers none of the repositories any more. */
export class NothingToMigrate extends Error {
  override name = 'NothingToMigrate'
  readonly uncovered: readonly string[]

  constructor(uncovered: readonly string[]) {
    super('no repository is left')
    this.uncovered = uncovered
  }
}

interface CoveredSteps {
  alsoWrite?: AlsoWrite<[Migration]> | undefined
  /** What the archive takes at least, for the quota. */
  minBytes?: number
  /**
   * Called with the names that are no longer covered, before anything is written. Returns earlier metadata of those that the migration
   * lists as skipped, so that its owner sees that they are not in the archive. That of others is ignored.
   */
  onUncovered(uncovered: readonly string[]): Promise<readonly RepositoryMetadata[]>
}

/**
 * Starts a migration of the repositories that the scope still covers. Throws NothingToMigrate if none is left and none is listed as
 * skipped.
 */
export async function startCovered(
  dependencies: StartDependencies,
  scope: Scope,
  { repositories, ...rest }: StartRequest,
  { onUncovered, alsoWrite, minBytes = 0 }: CoveredSteps,
): Promise<Migration> {
  if (rest.options.orgMetadataOnly)
    return insertAndStart(dependencies, scope, { list: [], minBytes, ...rest }, alsoWrite)
  const names = repositories.flatMap((text) => parseName(text, scope) ?? [])
  const covered = await coveredRepositories(dependencies, scope, names)
  const uncovered = names
    .filter((name) => !covered.has(keyOfName(name)))
    .map(({ owner, name }) => `${owner}/${name}`)
  const listed = await redactUnreadable(dependencies, scope, await onUncovered(uncovered))
  const list = names.flatMap(
    (name) => covered.get(keyOfName(name)) ?? listed.get(keyOfName(name)) ?? [],
  )
  if (list.length === 0) throw new NothingToMigrate(uncovered)
  const skipped = new Set(list.keys().filter((at) => !covered.has(keyOfRepository(list[at]!))))
  return insertAndStart(dependencies, scope, { list, skipped, minBytes, ...rest }, alsoWrite)
}

const keyOfRepository = (metadata: RepositoryMetadata): string => nameKey(fullNameOf(metadata))

/** Returns earlier metadata by the key of the name, without the details of repositories that the owner of the scope may no longer read. */
async function redactUnreadable(
  { db }: StartDependencies,
  { owner }: Scope,
  before: readonly RepositoryMetadata[],
): Promise<Map<string, RepositoryMetadata>> {
  const ids = before.map(({ id }) => id)
  const readable = await readableAmong(db, owner.id, ids)
  return new Map(
    before.map((each) => [
      keyOfRepository(each),
      readable.has(each.id) ? each : withheldMetadata(each),
    ]),
  )
}

interface StartContents extends Omit<StartRequest, 'repositories'> {
  list: RepositoryMetadata[]
  /** Positions of repositories that are skipped from the start. */
  skipped?: ReadonlySet<number>
  minBytes?: number
}

async function insertAndStart(
  dependencies: StartDependencies,
  scope: Scope,
  { list, skipped = new Set(), minBytes = 0, name = null, options }: StartContents,
  alsoWrite?: AlsoWrite<[Migration]>,
): Promise<Migration> {
  const { db, queue, now } = dependencies
  await dependencies.probeData?.().catch((cause: unknown) => {
    throw new DataNotWritable('the data directory is not writable', { cause })
  })
  const { orgMetadataOnly, lockRepositories } = options
  const toExport = list.filter((_, position) => !skipped.has(position))
  if (lockRepositories) await requireLockable(dependencies, toExport)
  const organizations = orgMetadataOnly ? await organizationsToMigrate(dependencies, scope) : null
  dependencies.signal?.throwIfAborted()
  const migration = await db.transaction().execute(async (tx) => {
    await lockScope(tx, scope)
    if ((await countUnfinished(tx, scope)) >= dependencies.maxUnfinished) {
      throw new InvalidRequest([
        { code: 'custom', message: tooManyUnfinished(scope, dependencies.maxUnfinished) },
      ])
    }
    // The size in the repository index is an estimate of what the repositories take in an archive.
    const kib = options.excludeGitData ? 0 : toExport.reduce((sum, each) => sum + each.sizeKib, 0)
    await requireQuota(tx, scope, Math.max(minBytes, kib * 1024), dependencies.maxArchiveBytes)
    const started = await insertMigration(tx, {
      guid: randomUUID(),
      owner: scope.owner,
      startedBy: scope.by ?? scope.owner,
      name,
      options,
      repositories: list,
      organizations,
      now: now(),
    })
    if (lockRepositories) {
      const times = { lockedAt: now(), expiresAt: now() + dependencies.lockTtlMs }
      await insertLocks(
        tx,
        started.id,
        toExport.map(({ id }) => id),
        times,
      )
    }
    if (skipped.size > 0)
      await recordNotExported(tx, started.id, [...skipped], {
        outcome: 'skipped',
        reason: NO_LONGER_COVERED,
        now: now(),
      })
    await queue.enqueue(
      tx,
      BEGIN_EXPORT,
      [{ migrationId: started.id }],
      batchOfMigration(started.id),
    )
    await alsoWrite?.(tx, started)
    return started
  })
  if (lockRepositories) await lockEarly(dependencies, migration.id)
  return migration
}

const tooManyUnfinished = ({ owner }: Scope, max: number): string =>
  `${isOrganization(owner) ? `${owner.login} already has` : 'You already have'} ${max} unfinished migrations. ` +
  'Wait until one of them has ended.'

async function organizationsToMigrate(
  { db, permissionsRefresher }: StartDependencies,
  { owner }: Scope,
): Promise<Account[]> {
  if (isOrganization(owner)) return [owner]
  await permissionsRefresher?.refresh(owner, FRESH)
  return administeredOrganizations(db, owner)
}

/**
 * Returns the current metadata of the named repositories, in order. Throws InvalidRequest with the index of each one that is not
 * covered.
 */
export async function readRepositoryList(
  dependencies: StartDependencies,
  scope: Scope,
  fullNames: string[],
): Promise<RepositoryMetadata[]> {
  if (fullNames.length === 0)
    throw new InvalidRequest([{ field: 'repositories', code: 'missing_field' }])
  const names = fullNames.map((text) => parseName(text, scope))
  refuseRepositories(names, (name) => name === undefined, 'invalid')
  const wellFormed = names as RepositoryName[]
  const firstIndex = new Map(wellFormed.map((name, i) => [keyOfName(name), i] as const).reverse())
  refuseRepositories(
    wellFormed,
    (name, i) => firstIndex.get(keyOfName(name)) !== i,
    'already_exists',
  )

  const covered = await coveredRepositories(dependencies, scope, wellFormed)
  // A repository of another owner gets the same error as one that does not exist.
  refuseRepositories(wellFormed, (name) => !covered.has(keyOfName(name)), 'missing')
  return wellFormed.map((name) => covered.get(keyOfName(name))!)
}

export interface CoverDependencies {
  db: Db
  /** Absent if this process cannot read the repositories; the repository index is then used as it is. */
  source: Source | undefined
  /** Absent if there is no forge. */
  permissionsRefresher?: PermissionsRefresher | undefined
  now: () => number
  /** Aborted when the client disconnects. It has no effect once something has been written. */
  signal?: AbortSignal | undefined
}

/** The reason does not reveal whether the repository exists. */
export const NO_LONGER_COVERED = 'it no longer exists, or may no longer be migrated'

const isOrganization = ({ type }: Account): boolean => type === 'Organization'

/** Parses `owner/name`, or the name of one of the scope's own repositories. */
function parseName(text: string, scope: Scope): RepositoryName | undefined {
  const names = text.split('/')
  if (names.length > 2 || !names.every(isName)) return undefined
  const [owner, name] = names.length === 2 ? names : [scope.owner.login, text]
  return { owner: owner!, name: name! }
}

/** Returns the metadata of those named repositories that the scope covers, by the key of the name. */
async function coveredRepositories(
  dependencies: CoverDependencies,
  scope: Scope,
  names: RepositoryName[],
): Promise<Map<string, RepositoryMetadata>> {
  const entries = await coveredEntries(dependencies, scope, names)
  const metadata = await metadataForViewer(dependencies.db, { account: scope.owner }, [
    ...entries.values(),
  ])
  return new Map([...entries.keys()].map((key, at) => [key, metadata[at]!]))
}

/** Returns those named repositories that the scope covers, refreshed if the source is present. */
async function coveredEntries(
  dependencies: CoverDependencies,
  scope: Scope,
  names: RepositoryName[],
): Promise<Map<string, IndexedRepository>> {
  await dependencies.permissionsRefresher?.refresh(scope.owner, FRESH, names)
  dependencies.signal?.throwIfAborted()
  const found = await findByNameAsMap(dependencies.db, names)
  const covered = await coveredBy(dependencies.db, scope, found)
  if (!dependencies.source) return covered
  // A repository of the owner that was created since the last sync is found as well.
  const toRefresh = names.filter(
    (name) => nameKey(name.owner) === nameKey(scope.owner.login) || covered.has(keyOfName(name)),
  )
  const isChanged = await refreshRepositories(
    { ...dependencies, source: dependencies.source },
    toRefresh,
    found,
  )
  if (!isChanged) return covered
  return coveredBy(dependencies.db, scope, await findByNameAsMap(dependencies.db, names))
}

/** Returns the full names of all repositories that the scope covers, as of the last sync. */
export async function allCovered(
  { db, permissionsRefresher }: CoverDependencies,
  { owner }: Scope,
): Promise<string[]> {
  await permissionsRefresher?.refresh(owner, RECENT)
  const filter = { affiliations: isOrganization(owner) ? (['owner'] as const) : affiliations }
  const order = { by: 'full_name', direction: 'asc' } as const
  const page = { order, offset: 0, limit: Number.MAX_SAFE_INTEGER }
  const entries = await listAdministered(db, { account: owner }, filter, page)
  return entries.map((entry) => `${entry.owner.login}/${entry.name}`)
}

/** Returns the full names that the scope does not cover. */
export async function uncoveredAmong(
  dependencies: CoverDependencies,
  scope: Scope,
  fullNames: readonly string[],
): Promise<Set<string>> {
  if (fullNames.length === 0) return new Set()
  const names = fullNames.flatMap((fullName) => parseFullName(fullName) ?? [])
  const entries = await coveredEntries(dependencies, scope, names)
  return new Set(fullNames.filter((fullName) => !entries.has(nameKey(fullName))))
}

/** A person's scope covers the repositories that they own or administer; an organization's scope covers its own repositories. */
async function coveredBy(
  db: Db,
  { owner }: Scope,
  entries: ReadonlyMap<string, IndexedRepository>,
): Promise<Map<string, IndexedRepository>> {
  const roles = await rolesOf(db, { account: owner }, [...entries.values()])
  const isCovered = (entry: IndexedRepository): boolean =>
    isOrganization(owner)
      ? entry.owner.id === owner.id
      : mayAdminister(roles.get(entry.id) ?? 'none')
  return new Map([...entries].filter(([, entry]) => isCovered(entry)))
}
