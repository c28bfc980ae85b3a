import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { selectInBatches, statementBatches } from '../db/statement-batches.ts'
import type { Row, SegmentsTable } from '../db/tables.ts'

/** A stored segment as the database knows it; `key` is that of its blob. */
export interface SegmentRecord {
  key: string
  length: number
  plainLength: number
  crc32: number
  sha256: string
  /** Of the stored bytes; null for what no archive contains. */
  storedCrc32: number | null
}

/** With what was last found of its stored bytes. */
export interface CheckedSegment extends SegmentRecord {
  checkedAt: number
  /** Null while the bytes are those that were written, as far as is known. */
  damagedAt: number | null
  /** When an export last took it into use: then it had its length. */
  namedAt: number
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

/** What is told of the repository that this segment was made of. */
export async function warningOf(db: Db, key: string): Promise<string | null> {
  const row = await db
    .selectFrom('segments')
    .select('warning')
    .where('key', '=', key)
    .executeTakeFirst()
  return row?.warning ?? null
}

/** Those that there are, by their fingerprints. */
export async function findSegments(
  db: Db,
  fingerprints: readonly string[],
): Promise<ReadonlyMap<string, CheckedSegment>> {
  const rows = await selectInBatches(fingerprints, (some) =>
    db
      .selectFrom('segments')
      .select(['fingerprint', ...RECORD_COLUMNS])
      .where('fingerprint', 'in', some),
  )
  return new Map(rows.map((row) => [row.fingerprint!, segmentOf(row)]))
}

/**
 * Those of the repositories that have a segment and have not been touched since, as far as the catalogue knows: it reads a
 * repository anew when something of it has changed. A guess in both directions, good for where to look first.
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
      .whereRef('named_at', '>=', 'synced_at'),
  )
  return new Set(rows.map(({ repository_id }) => repository_id!))
}

/** What was proven of the newest segment of a repository. */
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

/** Returns the key under which that content is known: another's, where another was quicker with the same. */
export async function insertSegment(
  tx: Db,
  segment: RepositorySegment,
  now: number,
): Promise<string> {
  const { key } = await tx
    .insertInto('segments')
    .values({ ...columnsOf(segment, now), ...contentColumns(segment) })
    .onConflict((conflict) => conflict.column('fingerprint').doUpdateSet({ named_at: now }))
    .returning('key')
    .executeTakeFirstOrThrow()
  return key
}

export async function insertMetadataSegment(
  tx: Db,
  segment: SegmentRecord,
  now: number,
): Promise<void> {
  await tx
    .insertInto('segments')
    .values({
      ...columnsOf(segment, now),
      fingerprint: null,
      repository_id: null,
      contents: null,
      verified: null,
      warning: null,
    })
    .execute()
}

/** What records are made of, or their files. */
export async function insertRecordsSegment(
  tx: Db,
  segment: SegmentRecord & { fingerprint: string; contents: string },
  now: number,
): Promise<string> {
  const { fingerprint, contents } = segment
  const { key } = await tx
    .insertInto('segments')
    .values({
      ...columnsOf(segment, now),
      fingerprint,
      contents,
      repository_id: null,
      verified: null,
      warning: null,
    })
    .onConflict((conflict) => conflict.column('fingerprint').doUpdateSet({ named_at: now }))
    .returning('key')
    .executeTakeFirstOrThrow()
  return key
}

/**
 * Keeps the sweep away from them; those that are not returned were swept before, or are damaged. In one order for everyone: two who
 * name the same segments then never wait for each other.
 */
export async function nameSegments(
  tx: Db,
  keys: readonly string[],
  now: number,
): Promise<ReadonlySet<string>> {
  const rows = await selectInBatches(keys.toSorted(), (some) =>
    tx
      .updateTable('segments')
      .set({ named_at: now })
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
    db.selectFrom('segments').select(RECORD_COLUMNS).where('key', 'in', some),
  )
  return new Map(rows.map((row) => [row.key, segmentOf(row)]))
}

/** How many there are, and how many bytes of the store they take. */
export async function countSegments(db: Db): Promise<{ count: number; bytes: number }> {
  return db.selectFrom('stored_segments').selectAll().executeTakeFirstOrThrow()
}

function columnsOf(segment: SegmentRecord, now: number) {
  return {
    key: segment.key,
    length: segment.length,
    plain_length: segment.plainLength,
    crc32: segment.crc32,
    sha256: segment.sha256,
    stored_crc32: segment.storedCrc32,
    created_at: now,
    named_at: now,
    checked_at: now,
    damaged_at: null,
  }
}

function contentColumns(segment: RepositorySegment) {
  const { fingerprint, repositoryId, contents, verified, warning } = segment
  return { fingerprint, repository_id: repositoryId, contents, verified, warning }
}

export const RECORD_COLUMNS = [
  'key',
  'length',
  'plain_length',
  'crc32',
  'sha256',
  'stored_crc32',
  'checked_at',
  'damaged_at',
  'named_at',
] as const

export function segmentOf(
  row: Pick<Row<SegmentsTable>, (typeof RECORD_COLUMNS)[number]>,
): CheckedSegment {
  return {
    key: row.key,
    length: row.length,
    plainLength: row.plain_length,
    crc32: row.crc32,
    sha256: row.sha256,
    storedCrc32: row.stored_crc32,
    checkedAt: row.checked_at,
    damagedAt: row.damaged_at,
    namedAt: row.named_at,
  }
}

/** Of most repositories less is said; one with very many refs says megabytes. */
const LARGE = 16 * 1024
const MOST_HELD = 32 * 1024 * 1024

/** Segments, and what each says of itself, as JSON: little is held, and the rest is read whenever it is asked for. */
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
    { large = LARGE, mostHeld = MOST_HELD } = {},
  ): Promise<StoredContents> {
    const segments = new Map<string, CheckedSegment>()
    const held = new Map<string, string>()
    let bytes = 0
    for (const batch of statementBatches(keys)) {
      const most = bytes < mostHeld ? large : 0
      const little = sql<
        string | null
      >`case when octet_length(contents) <= ${most} then contents end`
      const rows = await db
        .selectFrom('segments')
        .select(RECORD_COLUMNS)
        .select(little.as('contents'))
        .where('key', 'in', batch)
        .execute()
      for (const { contents, ...row } of rows) {
        segments.set(row.key, segmentOf(row))
        if (contents === null) continue
        held.set(row.key, contents)
        bytes += contents.length
      }
    }
    return new StoredContents(db, segments, held)
  }

  /** Undefined where it says nothing. */
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
