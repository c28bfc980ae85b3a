import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { selectInBatches, statementBatches } from '../db/statement-batches.ts'

/** A stored segment; `key` is the key of its blob. */
export interface SegmentRecord {
  key: string
  length: number
  plainLength: number
  crc32: number
  sha256: string
  /** CRC of the stored bytes; null if no archive contains them. */
  storedCrc32: number | null
}

/** A segment with the result of the last check of its stored bytes. */
export interface CheckedSegment extends SegmentRecord {
  checkedAt: number
  /** Null unless the stored bytes were found to be damaged. */
  damagedAt: number | null
  /** When an export last used it; its length was correct then. */
  lastUsedAt: number
}

/** A repository's segment: what it was made from, and what is said of it elsewhere, as JSON. */
export interface RepositorySegment extends SegmentRecord {
  fingerprint: string
  repositoryId: number
  contents: string
  verified: string
  /** What is told of the repository though it is exported; null where there is nothing. */
  warning: string | null
}

export async function findSegment(db: Db, fingerprint: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('segments')
    .select('key')
    .where('fingerprint', '=', fingerprint)
    .executeTakeFirst()
  return row?.key
}

/** Returns the warning about the repository of a segment. */
export async function warningOf(db: Db, key: string): Promise<string | null> {
  const row = await db
    .selectFrom('segments')
    .select('warning')
    .where('key', '=', key)
    .executeTakeFirst()
  return row?.warning ?? null
}

/** Returns existing segments by fingerprint. */
export async function findSegments(
  db: Db,
  fingerprints: readonly string[],
): Promise<ReadonlyMap<string, CheckedSegment>> {
  const rows = await selectInBatches(fingerprints, (some) =>
    db
      .selectFrom('segments')
      .select(['fingerprint', ...SEGMENT_COLUMNS])
      .where('fingerprint', 'in', some),
  )
  return new Map(rows.map(({ fingerprint, ...segment }) => [fingerprint!, segment]))
}

/**
 * Returns the repositories that have a segment and have not changed since, as far as the catalogue knows. A guess, which may be wrong in both
 * directions; it decides only which repositories get a job of their own.
 */
export async function probablyUnchanged(
  db: Db,
  repositoryIds: readonly number[],
): Promise<ReadonlySet<number>> {
  const rows = await selectInBatches(repositoryIds, (some) =>
    db
      .selectFrom('segments')
      .innerJoin('repositories', 'repositories.id', 'repository_id')
      .select('repository_id')
      .distinct()
      .where('repository_id', 'in', some)
      .whereRef('last_used_at', '>=', 'synced_at'),
  )
  return new Set(rows.map(({ repository_id }) => repository_id!))
}

/** Returns what was verified for the newest segment of a repository. */
export async function lastVerified(db: Db, repositoryId: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('segments')
    .select('verified')
    .where('repository_id', '=', repositoryId)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.verified ?? undefined
}

/** The fingerprints of the stored segments of a repository. A damaged segment has none. */
export async function fingerprintsOf(db: Db, repositoryId: number): Promise<string[]> {
  const rows = await db
    .selectFrom('segments')
    .select('fingerprint')
    .where('repository_id', '=', repositoryId)
    .where('damaged_at', 'is', null)
    .execute()
  return rows.map(({ fingerprint }) => fingerprint!)
}

/** A segment to insert, with a fingerprint if it can be reused. */
export interface NewSegment
  extends SegmentRecord,
    Partial<Omit<RepositorySegment, keyof SegmentRecord>> {}

/** Returns the key of the segment with this fingerprint: another one, if another process has inserted it before. */
export async function insertSegment(tx: Db, segment: NewSegment, now: number): Promise<string> {
  const { key } = await tx
    .insertInto('segments')
    .values({
      key: segment.key,
      length: segment.length,
      plain_length: segment.plainLength,
      crc32: segment.crc32,
      sha256: segment.sha256,
      stored_crc32: segment.storedCrc32,
      fingerprint: segment.fingerprint ?? null,
      repository_id: segment.repositoryId ?? null,
      contents: segment.contents ?? null,
      verified: segment.verified ?? null,
      warning: segment.warning ?? null,
      created_at: now,
      last_used_at: now,
      checked_at: now,
      damaged_at: null,
    })
    .onConflict((conflict) => conflict.column('fingerprint').doUpdateSet({ last_used_at: now }))
    .returning('key')
    .executeTakeFirstOrThrow()
  return key
}

/**
 * Marks segments as used now, which protects them from the sweep. Segments that are not returned were swept before, or are damaged. Sorted, so
 * that two transactions with the same segments cannot deadlock.
 */
export async function markSegmentsUsed(
  tx: Db,
  keys: readonly string[],
  now: number,
): Promise<ReadonlySet<string>> {
  const rows = await selectInBatches(keys.toSorted(), (some) =>
    tx
      .updateTable('segments')
      .set({ last_used_at: now })
      .where('key', 'in', some)
      .where('damaged_at', 'is', null)
      .returning('key'),
  )
  return new Set(rows.map(({ key }) => key))
}

export async function segmentsByKey(
  db: Db,
  keys: readonly string[],
): Promise<Map<string, CheckedSegment>> {
  const rows = await selectInBatches(keys, (some) =>
    db.selectFrom('segments').select(SEGMENT_COLUMNS).where('key', 'in', some),
  )
  return new Map(rows.map((segment) => [segment.key, segment]))
}

export async function countSegments(db: Db): Promise<{ count: number; bytes: number }> {
  return db.selectFrom('stored_segments').selectAll().executeTakeFirstOrThrow()
}

/** The columns of a CheckedSegment. */
export const SEGMENT_COLUMNS = [
  'key',
  'length',
  'plain_length as plainLength',
  'crc32',
  'sha256',
  'stored_crc32 as storedCrc32',
  'checked_at as checkedAt',
  'damaged_at as damagedAt',
  'last_used_at as lastUsedAt',
] as const

/** Most contents are smaller; those of a repository with very many refs have megabytes. */
const MAX_CACHED_LENGTH = 16 * 1024
const MAX_CACHED_BYTES = 32 * 1024 * 1024

/** Segments and their contents (JSON). Small contents are held in memory; large ones are read each time. */
export class StoredContents {
  readonly segments: ReadonlyMap<string, CheckedSegment>
  readonly #db: Db
  readonly #held: ReadonlyMap<string, string>

  private constructor(
    db: Db,
    segments: ReadonlyMap<string, CheckedSegment>,
    held: ReadonlyMap<string, string>,
  ) {
    this.#db = db
    this.segments = segments
    this.#held = held
  }

  static async open(
    db: Db,
    keys: readonly string[],
    { large = MAX_CACHED_LENGTH, mostHeld = MAX_CACHED_BYTES } = {},
  ): Promise<StoredContents> {
    const segments = new Map<string, CheckedSegment>()
    const held = new Map<string, string>()
    let bytes = 0
    for (const batch of statementBatches(keys)) {
      const maxLength = bytes < mostHeld ? large : 0
      const small = sql<
        string | null
      >`case when octet_length(contents) <= ${maxLength} then contents end`
      const rows = await db
        .selectFrom('segments')
        .select(SEGMENT_COLUMNS)
        .select(small.as('contents'))
        .where('key', 'in', batch)
        .execute()
      for (const { contents, ...segment } of rows) {
        segments.set(segment.key, segment)
        if (contents === null) continue
        held.set(segment.key, contents)
        bytes += contents.length
      }
    }
    return new StoredContents(db, segments, held)
  }

  /** Returns undefined if the segment has no contents. */
  async of<T>(key: string): Promise<T | undefined> {
    const contents = this.#held.get(key) ?? (await readContents(this.#db, key))
    return contents ? (JSON.parse(contents) as T) : undefined
  }
}

export async function readContents(db: Db, key: string): Promise<string | null> {
  const row = await db
    .selectFrom('segments')
    .select('contents')
    .where('key', '=', key)
    .executeTakeFirst()
  return row?.contents ?? null
}
