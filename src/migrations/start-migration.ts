import { randomUUID } from 'node:crypto'
import { keyOf, type Viewer } from '../accounts/account.ts'
import type { Db } from '../db/database.ts'
import { isName } from '../ground/names.ts'
import type { Queue } from '../queue/queue.ts'
import { mayAdminister, type RepositoryFacts } from '../repositories/facts.ts'
import { factsForViewer } from '../repositories/facts-for-viewer.ts'
import { administeredOrganizations } from '../repositories/organizations.ts'
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
import { ownScope } from './scope.ts'

export interface StartParts {
  db: Db
  queue: Queue
  /** Absent where the repositories are not at hand; the catalogue is then taken as it is. */
  source: Source | undefined
  now: () => number
  maxUnfinished: number
  lockTtlMs: number
}

export interface StartRequest {
  /** `owner/name`, or the bare name of one of the caller's own. */
  repositories: string[]
  options: MigrationOptions
}

/**
 * Takes a snapshot of what is known of each repository, and with that the migration exists: its locks and its export are
 * written down in the same transaction. All of it or nothing.
 */
export async function startMigration(
  parts: StartParts,
  viewer: Viewer,
  { repositories, options }: StartRequest,
  onCommitted: (started: Migration) => void = () => {},
): Promise<StartedMigration> {
  const { db, queue, now } = parts
  const { orgMetadataOnly, lockRepositories } = options
  const scope = ownScope(viewer)
  const snapshot = orgMetadataOnly ? [] : await snapshotOf(parts, viewer, repositories)
  if (lockRepositories) await refuseUnlockable(parts.source, snapshot)
  const organizations = orgMetadataOnly ? await administeredOrganizations(db, viewer) : null
  const migration = await db.transaction().execute(async (tx) => {
    await lockScope(tx, scope)
    if ((await countUnfinished(tx, scope)) >= parts.maxUnfinished) {
      throw new Invalid([{ code: 'custom', message: tooManyUnfinished(parts.maxUnfinished) }])
    }
    const started = await insertMigration(tx, {
      guid: randomUUID(),
      owner: scope.owner,
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
    return started
  })
  onCommitted(migration)
  queue.wake()
  if (lockRepositories) await lockEarly(parts, migration.id)
  return { ...migration, repositories: snapshot }
}

const tooManyUnfinished = (max: number): string =>
  `You already have ${max} unfinished migrations. Wait until one of them has ended.`

/** The named repositories as they are now, in order. Refuses what the viewer may not migrate, each by its index. */
export async function snapshotOf(
  parts: StartParts,
  viewer: Viewer,
  asked: string[],
): Promise<RepositoryFacts[]> {
  if (asked.length === 0) throw new Invalid([{ field: 'repositories', code: 'missing_field' }])
  const names = asked.map((text) => parseName(text, viewer))
  refuse(names, (name) => name === undefined, 'invalid')
  const wellFormed = names as RepositoryName[]
  const firstIndex = new Map(wellFormed.map((name, i) => [keyOfName(name), i] as const).reverse())
  refuse(wellFormed, (name, i) => firstIndex.get(keyOfName(name)) !== i, 'already_exists')

  const entries = await administered(parts, viewer, wellFormed)
  // Someone else's repository and one that does not exist get the same answer.
  refuse(wellFormed, (name) => !entries.has(keyOfName(name)), 'missing')
  return factsForViewer(
    parts.db,
    viewer,
    wellFormed.map((name) => entries.get(keyOfName(name))!),
  )
}

function parseName(text: string, viewer: Viewer): RepositoryName | undefined {
  const parts = text.split('/')
  if (parts.length > 2 || !parts.every(isName)) return undefined
  const [owner, name] = parts.length === 2 ? parts : [viewer.account.login, text]
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

/** Those of the named repositories that the viewer owns or administers, with fresh facts where the source is at hand. */
async function administered(
  parts: StartParts,
  viewer: Viewer,
  names: RepositoryName[],
): Promise<Map<string, CatalogueEntry>> {
  const known = await findCatalogued(parts.db, names)
  const entries = await administeredOf(parts.db, viewer, known)
  if (!parts.source) return entries
  // A repository made since the last sync is found too, where it would be the caller's own.
  const mine = names.filter(
    (name) => keyOf(name.owner) === keyOf(viewer.account.login) || entries.has(keyOfName(name)),
  )
  const isChanged = await refreshRepositories({ ...parts, source: parts.source }, mine, known)
  if (!isChanged) return entries
  return administeredOf(parts.db, viewer, await findCatalogued(parts.db, names))
}

async function administeredOf(
  db: Db,
  viewer: Viewer,
  known: ReadonlyMap<string, CatalogueEntry>,
): Promise<Map<string, CatalogueEntry>> {
  const roles = await rolesOf(db, viewer, [...known.values()])
  return new Map([...known].filter(([, entry]) => mayAdminister(roles.get(entry.id) ?? 'none')))
}
