import { type Account, keyOf } from '../accounts/account.ts'
import type { Db } from '../db/database.ts'
import { fullNameOf, type RepositoryFacts } from '../repositories/facts.ts'
import { readableAmong } from '../repositories/readable-repositories.ts'
import { keyOfName, repositoryNow } from '../repositories/repository-store.ts'
import type { RepositoryName } from '../sources/source.ts'
import {
  type ExportTask,
  InvalidStateChange,
  type Migration,
  type MigrationOptions,
  type MigrationState,
  shownState,
  statesBefore,
} from './migration.ts'
import { migrationOf } from './migration-store.ts'
import { outcomesOf, type RepositoryOutcome } from './outcomes.ts'
import { type RepositoryRecords, recordExportsOf } from './record-store.ts'
import { repositoriesOf, repositoryAt } from './snapshot-store.ts'
import { tally } from './tally-store.ts'

export interface ExportedRepository {
  position: number
  facts: RepositoryFacts
  segmentKey: string | null
  /** What people said about it, where there is a forge and that was wanted. */
  records: RepositoryRecords | null
  /** Null until it has ended. */
  outcome: RepositoryOutcome['outcome']
  /** Why it was not exported. */
  reason: string | null
}

/** For whoever does the work; a person's requests go through `findMigration`, which asks who they are. */
export async function migrationToExport(db: Db, id: number): Promise<Migration> {
  const row = await db
    .selectFrom('migrations')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return migrationOf(row)
}

const NO_LONGER_READABLE = 'the account that started the migration may no longer read it'

interface RepositoryToExport {
  facts: RepositoryFacts
  /** Of its migration. */
  options: MigrationOptions
  /** Why it may not be exported, if so: asked now, not when the migration was started. */
  refusal: string | undefined
}

export async function repositoryToExport(
  db: Db,
  { migrationId, position }: ExportTask,
): Promise<RepositoryToExport> {
  const facts = await repositoryAt(db, migrationId, position)
  const { owner_id, options: said } = await db
    .selectFrom('migrations')
    .select(['owner_id', 'options'])
    .where('id', '=', migrationId)
    .executeTakeFirstOrThrow()
  const options = JSON.parse(said) as MigrationOptions
  const readable = await readableAmong(db, owner_id, [facts.id])
  const current = await repositoryNow(db, facts.id)
  const unreadable = readable.has(facts.id) ? undefined : NO_LONGER_READABLE
  const refusal = current?.hidden ?? unreadable ?? whyNotUnderName(facts, current!)
  return { facts, options, refusal }
}

/** It is read by its name, and after a rename that may be another's repository. */
function whyNotUnderName(facts: RepositoryFacts, current: RepositoryName): string | undefined {
  if (keyOfName(current) === keyOf(fullNameOf(facts))) return undefined
  return `it is now called ${current.owner}/${current.name}`
}

interface NewArchive {
  bytes: number
  expiresAt: number
  /** Of its own segments. */
  metadataKey: string
  manifestKey: string
  /** Where the store holds it whole. */
  key?: string
}

/** What is said of an end beside it. */
export interface MigrationEnd {
  reason?: string
  archive?: NewArchive
}

/**
 * Throws InvalidStateChange where the migration is not in a state that leads there, as when it was ended meanwhile. Of an end nobody is
 * told: that is `endMigration`.
 */
export async function moveMigration(
  tx: Db,
  id: number,
  to: MigrationState,
  change: MigrationEnd & { now: number },
): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('migrations')
    .set((row) => ({
      state: to,
      ...(to === 'exporting' ? { started_at: change.now } : { ended_at: change.now }),
      version: row('version', '+', 1),
      updated_at: change.now,
      reason: change.reason ?? null,
      archive_expires_at: change.archive?.expiresAt ?? null,
      archive_bytes: change.archive?.bytes ?? null,
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
  await tally(tx, `migrations ${shown}`, { now: change.now })
}

/** The migration's repositories in order, with what has become of each so far. */
export async function exportedRepositories(
  db: Db,
  migration: Migration,
): Promise<ExportedRepository[]> {
  const outcomes = await outcomesOf(db, migration)
  const records = await recordExportsOf(db, migration)
  const repositories = await repositoriesOf(db, migration)
  return repositories.map((facts, position) => ({
    position,
    facts,
    segmentKey: outcomes.get(position)?.segmentKey ?? null,
    records: records.get(position)?.records ?? null,
    outcome: outcomes.get(position)?.outcome ?? null,
    reason: outcomes.get(position)?.reason ?? null,
  }))
}

/** The organizations of a migration that covers nothing else. */
export async function organizationsIn(db: Db, { id }: Migration): Promise<Account[]> {
  const { organizations } = await db
    .selectFrom('migrations')
    .select('organizations')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return organizations === null ? [] : (JSON.parse(organizations) as Account[])
}
