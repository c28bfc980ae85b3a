import { NotFound } from '@godwit/lib/request-errors'
import { type Account, nameKey } from '../accounts/account.ts'
import type { Db } from '../db/database.ts'
import { fullNameOf, type RepositoryMetadata } from '../repositories/repository-metadata.ts'
import { findCurrentNames, keyOfName } from '../repositories/repository-store.ts'
import { readableAmong } from '../repositories/visible-repository.ts'
import {
  type ExportTask,
  InvalidStateChange,
  type Migration,
  type MigrationOptions,
  type MigrationState,
  migrationOf,
  shownState,
  statesBefore,
} from './migration.ts'
import { readColumns } from './migration-store.ts'
import { countOutcome } from './outcome-counts.ts'
import {
  NOT_BEGUN,
  outcomesOf,
  type RepositoryOutcome,
  type RepositoryRecords,
  readRecordExports,
} from './outcomes.ts'
import { repositoriesAt, repositoriesOf } from './repository-list-store.ts'

export interface ExportedRepository
  extends Pick<RepositoryOutcome, 'segmentKey' | 'outcome' | 'reason' | 'missingLfs'> {
  position: number
  metadata: RepositoryMetadata
  /** Null without a forge, or if records are excluded. */
  records: RepositoryRecords | null
}

/** Finds a migration of any owner, for workers and operators. Requests of users use `findMigration`. Throws NotFound. */
export async function migrationById(db: Db, id: number): Promise<Migration> {
  const row = await db.selectFrom('migrations').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) throw new NotFound()
  return migrationOf(row)
}

const NO_LONGER_READABLE = 'the account that started the migration may no longer read it'

/**
 * `since` is when the export began. `refusal` is the reason if the repository may no longer be exported, although the migration was
 * allowed to start.
 */
export async function repositoryToExport(db: Db, { migrationId, position }: ExportTask) {
  const { repositories, ...migration } = await repositoriesToExport(db, migrationId, [position])
  return { ...migration, ...repositories[0]! }
}

export async function repositoriesToExport(
  db: Db,
  migrationId: number,
  positions: readonly number[],
) {
  const all = await repositoriesAt(db, migrationId, positions)
  const ids = all.map(({ id }) => id)
  const columns = ['owner_id', 'options', 'started_at'] as const
  const { owner_id, options, started_at } = await readColumns(db, migrationId, columns)
  const readable = await readableAmong(db, owner_id, ids)
  const names = await findCurrentNames(db, ids)
  const repositories = all.map((metadata) => {
    const current = names.get(metadata.id)!
    const unreadable = readable.has(metadata.id) ? undefined : NO_LONGER_READABLE
    // A repository is read by its name, which may belong to another repository after a rename.
    const isRenamed = keyOfName(current) !== nameKey(fullNameOf(metadata))
    const renamed = isRenamed ? `it is now called ${current.owner}/${current.name}` : undefined
    return { metadata, refusal: current.hidden ?? unreadable ?? renamed }
  })
  const since = started_at ?? Number.POSITIVE_INFINITY
  return { repositories, options: JSON.parse(options) as MigrationOptions, since }
}

export interface MigrationEnd {
  reason?: string
  archive?: {
    bytes: number
    /** The number of its repositories with missing LFS objects; 0 by default. */
    incomplete?: number
    expiresAt: number
    metadataKey: string
    manifestKey: string
    /** The blob of the complete archive, if the store composed one. */
    key?: string
  }
}

/**
 * Changes the state. Throws InvalidStateChange if the current state does not allow that, for example if the migration was ended
 * meanwhile. Sends no webhook events: `endMigration` does.
 */
export async function changeState(
  tx: Db,
  id: number,
  to: MigrationState,
  change: MigrationEnd & { now: number },
): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('migrations')
    .set((eb) => ({
      state: to,
      ...(to === 'exporting' ? { started_at: change.now } : { ended_at: change.now }),
      version: eb('version', '+', 1),
      updated_at: change.now,
      reason: change.reason ?? null,
      archive_expires_at: change.archive?.expiresAt ?? null,
      archive_bytes: change.archive?.bytes ?? null,
      incomplete_count: change.archive?.incomplete ?? 0,
      archive_key: change.archive?.key ?? null,
      archive_checked_at: change.archive?.key ? change.now : null,
      metadata_key: change.archive?.metadataKey ?? null,
      manifest_key: change.archive?.manifestKey ?? null,
    }))
    .where('id', '=', id)
    .where('state', 'in', statesBefore(to))
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw new InvalidStateChange(`migration ${id} cannot become ${to} now`)
  const shown = shownState(to, change.reason ?? null)
  if (shown === 'pending' || shown === 'exporting') return
  await countOutcome(tx, `migrations ${shown}`, { now: change.now })
}

/** Returns the migration's repositories in order, with their results so far. */
export async function exportedRepositories(
  db: Db,
  migration: Migration,
): Promise<ExportedRepository[]> {
  const outcomes = await outcomesOf(db, migration)
  const records = await readRecordExports(db, migration)
  const repositories = await repositoriesOf(db, migration)
  return repositories.map((metadata, position) => {
    const { segmentKey, outcome, reason, missingLfs } = outcomes.get(position) ?? NOT_BEGUN
    return {
      position,
      metadata,
      segmentKey,
      outcome,
      reason,
      missingLfs,
      records: records.get(position)?.records ?? null,
    }
  })
}

/** Returns the organizations of a migration with `orgMetadataOnly`. */
export async function organizationsIn(db: Db, { id }: Migration): Promise<Account[]> {
  const { organizations } = await readColumns(db, id, ['organizations'])
  return organizations === null ? [] : (JSON.parse(organizations) as Account[])
}
