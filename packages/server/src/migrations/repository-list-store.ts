import { batchesOf } from '@godwit/lib/chunks'
import { mapInTurns } from '@godwit/lib/turns'
import { sql } from 'kysely'
import { type Db, rowsInPages, selectInBatches } from '../db/database.ts'
import { prepared } from '../db/prepared.ts'
import {
  deleteMetadataUnlessUsed,
  findSweepCandidates,
  metadataById,
  metadataIdsOfRepository,
  type RepositorySummary,
  repositoriesByMetadataId,
  SWEEP_GRACE_MS,
  saveMetadata,
} from '../repositories/metadata-store.ts'
import type { RepositoryMetadata } from '../repositories/repository-metadata.ts'
import type { Migration } from './migration.ts'

/**
 * The repository list of a migration consists of references to metadata, in the order of the request. It is stored in parts, so that a
 * page of a long one reads only a part. Parts never change.
 */
const PART_LENGTH = 500
const ROWS_AT_ONCE = 500

export interface Page {
  offset: number
  limit: number
}

type OfMigration = Pick<Migration, 'id' | 'repositoryCount' | 'listPart'>

export async function insertRepositoryList(
  tx: Db,
  migrationId: number,
  repositories: readonly RepositoryMetadata[],
  now: number,
): Promise<void> {
  if (repositories.length === 0) return
  const references = await saveMetadata(tx, repositories, now)
  const parts = [...batchesOf(references, PART_LENGTH)].map((ids, part) => ({
    migration_id: migrationId,
    part,
    metadata_ids: JSON.stringify(ids),
  }))
  await tx.insertInto('repository_lists').values(parts).execute()
}

const partOfList = prepared(
  (db, { id, part }: { id: number; part: number }) =>
    db
      .selectFrom('repository_lists')
      .select('metadata_ids')
      .where('migration_id', '=', id)
      .where('part', '=', part),
  ([row]) => referencesIn(row?.metadata_ids ?? null),
)

export const referencesIn = (metadataIds: string | null): readonly number[] =>
  metadataIds === null ? [] : (JSON.parse(metadataIds) as number[])

/** Returns the number of the part that contains a position. */
export const partAt = (position: number): number => Math.floor(position / PART_LENGTH)

/** Returns the references of a page. */
export async function referencesOfPage(
  db: Db,
  { id, repositoryCount, listPart }: OfMigration,
  { offset, limit }: Page,
): Promise<number[]> {
  const end = Math.min(offset + limit, repositoryCount)
  const found: number[] = []
  for (let at = offset; at < end; ) {
    const part = partAt(at)
    const first = part * PART_LENGTH
    const all = listPart?.part === part ? listPart.references : await partOfList(db, { id, part })
    found.push(...all.slice(at - first, end - first))
    at = first + PART_LENGTH
  }
  return found
}

const allReferences = (db: Db, migration: OfMigration): Promise<number[]> =>
  referencesOfPage(db, migration, { offset: 0, limit: migration.repositoryCount })

/** Returns all repositories of a migration, in order. */
export async function repositoriesOf(
  db: Db,
  migration: OfMigration,
): Promise<RepositoryMetadata[]> {
  const ids = await allReferences(db, migration)
  const metadata = await metadataById(db, ids)
  return ids.map((id) => metadata.get(id)!)
}

/** Returns the names of all repositories, in order. */
export async function namedRepositoriesOf(
  db: Db,
  migration: OfMigration,
): Promise<RepositorySummary[]> {
  return (await namedRepositoriesOfAll(db, [migration]))[0]!
}

/** Returns the names of all repositories of several migrations. Metadata that they share is read once. */
export async function namedRepositoriesOfAll(
  db: Db,
  migrations: readonly OfMigration[],
): Promise<RepositorySummary[][]> {
  const lists: number[][] = []
  for (const migration of migrations) lists.push(await allReferences(db, migration))
  const names = await repositoriesByMetadataId(db, lists.flat())
  return lists.map((ids) => ids.map((id) => names.get(id)!))
}

export async function fullNamesOf(db: Db, migration: OfMigration): Promise<string[]> {
  return (await namedRepositoriesOf(db, migration)).map(({ fullName }) => fullName)
}

const partsOf = (db: Db, migrationIds: readonly number[]) =>
  db
    .selectFrom('repository_lists')
    .select(['migration_id', 'metadata_ids'])
    .where('migration_id', 'in', migrationIds)

/** Returns the names of the first repositories of several migrations, by migration id. */
export async function firstNames(
  db: Db,
  migrationIds: readonly number[],
  atMost: number,
): Promise<Map<number, string[]>> {
  const rows = await selectInBatches(migrationIds, (batch) =>
    partsOf(db, batch).where('part', '=', 0),
  )
  const first = rows.map((row) => ({
    id: row.migration_id,
    references: referencesIn(row.metadata_ids).slice(0, atMost),
  }))
  const ids = first.flatMap(({ references }) => references)
  const names = await repositoriesByMetadataId(db, ids)
  return new Map(
    first.map(({ id, references }) => [id, references.map((each) => names.get(each)!.fullName)]),
  )
}

/** Returns the migrations that contain the repository. */
export async function migrationsContaining(
  db: Db,
  migrationIds: readonly number[],
  repositoryId: number,
): Promise<Set<number>> {
  const rows = await selectInBatches(migrationIds, (batch) => partsOf(db, batch))
  const lists = await mapInTurns(rows, (row) => ({
    migrationId: row.migration_id,
    references: referencesIn(row.metadata_ids),
  }))
  const all = new Set(lists.flatMap(({ references }) => references))
  const ofRepository = await metadataIdsOfRepository(db, [...all], repositoryId)
  const found = lists.filter(({ references }) => references.some((id) => ofRepository.has(id)))
  return new Set(found.map(({ migrationId }) => migrationId))
}

/** Returns repositories in the order of `positions`. */
export async function repositoriesAt(
  db: Db,
  migrationId: number,
  positions: readonly number[],
): Promise<RepositoryMetadata[]> {
  const parts = new Map<number, readonly number[]>()
  for (const part of new Set(positions.map(partAt)))
    parts.set(part, await partOfList(db, { id: migrationId, part }))
  const ids = positions.map((position) => parts.get(partAt(position))![position % PART_LENGTH]!)
  const metadata = await metadataById(db, ids)
  return ids.map((id) => metadata.get(id)!)
}

export async function fullNameAt(db: Db, migrationId: number, position: number): Promise<string> {
  const part = await partOfList(db, { id: migrationId, part: partAt(position) })
  const id = part[position % PART_LENGTH]!
  return (await repositoriesByMetadataId(db, [id])).get(id)!.fullName
}

const MAX_SWEPT_AT_ONCE = 100_000

/**
 * Deletes metadata that no repository list refers to. Reads every list; one that is inserted meanwhile marks its metadata as used, so it
 * is kept. Returns the number of deleted rows.
 */
export async function sweepMetadata(db: Db, now: number): Promise<number> {
  const since = now - SWEEP_GRACE_MS
  let removed = 0
  for (let after = 0; ; ) {
    const candidates = await findSweepCandidates(db, { since, after, limit: MAX_SWEPT_AT_ONCE })
    if (candidates.length === 0) return removed
    after = candidates.at(-1)!
    const unused = new Set(candidates)
    for await (const { metadata_ids } of everyPart(db))
      for (const id of referencesIn(metadata_ids)) unused.delete(id)
    removed += await deleteMetadataUnlessUsed(db, [...unused], since)
  }
}

const everyPart = (db: Db) =>
  rowsInPages(ROWS_AT_ONCE, { migration_id: 0, part: -1 }, (after) =>
    db
      .selectFrom('repository_lists')
      .selectAll()
      .where(sql<boolean>`(migration_id, part) > (${after.migration_id}, ${after.part})`)
      .orderBy('migration_id')
      .orderBy('part'),
  )
