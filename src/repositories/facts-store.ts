import { hash } from 'node:crypto'
import type { Db } from '../db/database.ts'
import { prepared } from '../db/prepared.ts'
import { selectInBatches, statementBatches } from '../db/statement-batches.ts'
import { batchesOf } from '../lib/batches.ts'
import { mapInTurns, nextTurn } from '../lib/turns.ts'
import { fullNameOf, type RepositoryFacts } from './facts.ts'

const DAY = 24 * 60 * 60 * 1000
/** A reference to facts is noted in their row no more often than that. */
const NAMED_AFRESH_MS = DAY
/** Facts that were named within this time are never swept, referred to or not. Far longer than the time above. */
export const UNNAMED_FOR_MS = 7 * DAY

interface KeptFacts {
  digest: string
  repository_id: number
  full_name: string
  facts: string
  size_kib: number
}

/**
 * Writes down those that are not there yet and returns the ids of all, in their order. The caller brings the transaction
 * that refers to them. What has not been named for long is named first, so that the sweep lets it be: a row that it took
 * in the meantime is written again.
 */
export async function keepFacts(
  tx: Db,
  all: readonly RepositoryFacts[],
  now: number,
): Promise<number[]> {
  const kept = await mapInTurns(all, keptFactsOf)
  const rows = new Map(kept.map((each) => [each.digest, each]))
  const known = await selectInBatches([...rows.keys()], (digests) =>
    tx
      .selectFrom('facts')
      .select(['id', 'digest'])
      .where('digest', 'in', digests)
      .where('named_at', '>', now - NAMED_AFRESH_MS),
  )
  const ids = new Map(known.map(({ id, digest }) => [digest, id]))
  // In one order for everyone: two who write the same rows then never wait for each other.
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
  return kept.map(({ digest }) => ids.get(digest)!)
}

function keptFactsOf(each: RepositoryFacts): KeptFacts {
  const facts = JSON.stringify(each)
  const digest = hash('sha256', facts, 'base64url')
  const full_name = fullNameOf(each)
  return { digest, repository_id: each.id, full_name, facts, size_kib: Math.round(each.sizeKib) }
}

const ASKED_AT_ONCE = 10

/** As many as there are holes: the statement stays the same. */
const factsTexts = prepared(
  (db, ids: Record<number, number>) =>
    db
      .selectFrom('facts')
      .select(['id', 'facts'])
      .where(
        'id',
        'in',
        Array.from({ length: ASKED_AT_ONCE }, (_, at) => ids[at]!),
      ),
  (rows) => rows,
  { isRemembered: false },
)

/** Of a page. None is missing while anything refers to it. */
export async function someFactsById(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, RepositoryFacts>> {
  const batches = [...batchesOf(ids, ASKED_AT_ONCE)].map((some) =>
    factsTexts(
      db,
      Array.from({ length: ASKED_AT_ONCE }, (_, at) => some[at] ?? some[0]!),
    ),
  )
  const rows = (await Promise.all(batches)).flat()
  return new Map(rows.map(({ id, facts }) => [id, JSON.parse(facts) as RepositoryFacts]))
}

/** Of as many as fit into memory. */
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
  /** As the catalogue knew it. */
  bytes: number
}

/** Which repositories they are of. */
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

/** Those of the facts that are of this repository. */
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

/** Some of those that nobody has named since then, by their ids. */
export async function unnamedFacts(
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

/** Leaves those that were named after all. Each by itself, so that nobody waits for it while it waits for others. */
export async function deleteUnnamedFacts(
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
