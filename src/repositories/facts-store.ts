import { hash } from 'node:crypto'
import type { Db } from '../db/database.ts'
import { prepared } from '../db/prepared.ts'
import { selectInBatches, statementBatches } from '../db/statement-batches.ts'
import { batchesOf } from '../lib/batches.ts'
import { mapInTurns, nextTurn } from '../lib/turns.ts'
import { fullNameOf, type RepositoryFacts } from './facts.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** How often a new reference to facts updates `named_at` of their row at most. */
const REFERENCE_UPDATE_MS = DAY_MS
/** Facts with a reference newer than this are never swept. Far longer than REFERENCE_UPDATE_MS. */
export const UNREFERENCED_FOR_MS = 7 * DAY_MS

interface FactsRow {
  digest: string
  repository_id: number
  full_name: string
  facts: string
  size_kib: number
}

/**
 * Inserts facts that are not stored yet and returns the ids of all, in the same order. Call it in the transaction that refers
 * to them. It updates `named_at` of old rows, so that the sweep does not delete them, and inserts a row again that the sweep
 * has deleted meanwhile.
 */
export async function saveFacts(
  tx: Db,
  all: readonly RepositoryFacts[],
  now: number,
): Promise<number[]> {
  const wanted = await mapInTurns(all, factsRowOf)
  const rows = new Map(wanted.map((each) => [each.digest, each]))
  const known = await selectInBatches([...rows.keys()], (digests) =>
    tx
      .selectFrom('facts')
      .select(['id', 'digest'])
      .where('digest', 'in', digests)
      .where('named_at', '>', now - REFERENCE_UPDATE_MS),
  )
  const ids = new Map(known.map(({ id, digest }) => [digest, id]))
  // Sorted, so that transactions that write the same rows cannot deadlock.
  const others = [...rows.values()]
    .filter(({ digest }) => !ids.has(digest))
    .sort((a, b) => (a.digest < b.digest ? -1 : 1))
  const written = await selectInBatches(others, (some) =>
    tx
      .insertInto('facts')
      .values(some.map((each) => ({ ...each, named_at: now })))
      .onConflict((conflict) => conflict.column('digest').doUpdateSet({ named_at: now }))
      .returning(['id', 'digest']),
  )
  for (const { id, digest } of written) ids.set(digest, id)
  return wanted.map(({ digest }) => ids.get(digest)!)
}

function factsRowOf(each: RepositoryFacts): FactsRow {
  const facts = JSON.stringify(each)
  const digest = hash('sha256', facts, 'base64url')
  const full_name = fullNameOf(each)
  return { digest, repository_id: each.id, full_name, facts, size_kib: Math.round(each.sizeKib) }
}

/** The prepared statement always has so many parameters, so that its text stays the same. */
const STATEMENT_IDS = 10

const factsTexts = prepared(
  (db, ids: Record<number, number>) =>
    db
      .selectFrom('facts')
      .select(['id', 'facts'])
      .where(
        'id',
        'in',
        Array.from({ length: STATEMENT_IDS }, (_, at) => ids[at]!),
      ),
  (rows) => rows,
  { isCached: false },
)

/** Returns the facts of a page of repositories. Facts exist as long as a migration refers to them. */
export async function factsOfPage(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, RepositoryFacts>> {
  const batches = [...batchesOf(ids, STATEMENT_IDS)].map((some) =>
    factsTexts(
      db,
      Array.from({ length: STATEMENT_IDS }, (_, at) => some[at] ?? some[0]!),
    ),
  )
  const rows = (await Promise.all(batches)).flat()
  return new Map(rows.map(({ id, facts }) => [id, JSON.parse(facts) as RepositoryFacts]))
}

export async function factsById(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, RepositoryFacts>> {
  const found = new Map<number, RepositoryFacts>()
  for (const some of statementBatches([...new Set(ids)])) {
    await nextTurn()
    const rows = await db
      .selectFrom('facts')
      .select(['id', 'facts'])
      .where('id', 'in', some)
      .execute()
    for (const row of rows) found.set(row.id, JSON.parse(row.facts) as RepositoryFacts)
  }
  return found
}

export interface NamedRepository {
  repositoryId: number
  fullName: string
  /** The size in the catalogue at that time. */
  bytes: number
}

/** Returns the repository of each id. */
export async function namesById(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, NamedRepository>> {
  const rows = await selectInBatches([...new Set(ids)], (some) =>
    db
      .selectFrom('facts')
      .select(['id', 'repository_id as repositoryId', 'full_name as fullName', 'size_kib'])
      .where('id', 'in', some),
  )
  return new Map(
    rows.map(({ id, size_kib, ...named }) => [id, { ...named, bytes: size_kib * 1024 }]),
  )
}

/** Returns those of the ids that are facts of this repository. */
export async function factsOfRepository(
  db: Db,
  ids: readonly number[],
  repositoryId: number,
): Promise<Set<number>> {
  const rows = await selectInBatches(ids, (some) =>
    db
      .selectFrom('facts')
      .select('id')
      .where('id', 'in', some)
      .where('repository_id', '=', repositoryId),
  )
  return new Set(rows.map(({ id }) => id))
}

/** Returns ids above `after` of facts without a reference since then. */
export async function findUnreferencedFacts(
  db: Db,
  { since, after, atMost }: { since: number; after: number; atMost: number },
): Promise<number[]> {
  const rows = await db
    .selectFrom('facts')
    .select('id')
    .where('named_at', '<=', since)
    .where('id', '>', after)
    .orderBy('id')
    .limit(atMost)
    .execute()
  return rows.map(({ id }) => id)
}

/** Deletes facts unless they have a new reference. One statement for each, so that it never holds one lock while it waits for another. */
export async function deleteUnreferencedFacts(
  db: Db,
  ids: readonly number[],
  since: number,
): Promise<number> {
  let deleted = 0
  for (const id of ids) {
    const { numDeletedRows } = await db
      .deleteFrom('facts')
      .where('id', '=', id)
      .where('named_at', '<=', since)
      .executeTakeFirst()
    deleted += Number(numDeletedRows)
  }
  return deleted
}
