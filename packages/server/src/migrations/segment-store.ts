import { sql } from 'kysely'
import { type Db, selectInBatches, statementBatches } from '../db/database.ts'

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
  /** When an export last used it. Its length was checked then. */
  lastUsedAt: number
}

/** The state of a repository: the fingerprint and size of its segment's contents. */
export interface Examined {
  fingerprint: string
  bytes: number
  /** Proves later that this is still the current state; see Examination. */
  changeToken?: string | undefined
}

/** A segment to insert. Segments of repositories and of their records have a fingerprint, by which they can be reused. */
interface NewSegment extends SegmentRecord, Partial<Examined> {
  repositoryId?: number
  /** Its part of the manifest, as JSON. */
  contents?: string
  /** What the next snapshot of the same repository need not verify again. */
  verified?: string
  /** Shown to the owner although the repository was exported. */
  warning?: string | null
  /** The number of LFS objects that the host does not have. */
  missingLfs?: number
}

const segmentRow = (db: Db, key: string) => db.selectFrom('segments').where('key', '=', key)

const PROBLEM_COLUMNS = ['warning', 'missing_lfs as missingLfs'] as const

/** What an owner should know about the exported repository of a segment. */
export interface SegmentProblems {
  warning: string | null
  /** The number of LFS objects that the host did not have. The warning names them. */
  missingLfs: number
}

export const problemsOf = async (db: Db, key: string): Promise<SegmentProblems> =>
  (await segmentRow(db, key).select(PROBLEM_COLUMNS).executeTakeFirst()) ?? {
    warning: null,
    missingLfs: 0,
  }

export const readContents = async (db: Db, key: string): Promise<string | null> =>
  (await segmentRow(db, key).select('contents').executeTakeFirst())?.contents ?? null

/** Returns existing segments by fingerprint. */
export async function findSegments(
  db: Db,
  fingerprints: readonly string[],
): Promise<ReadonlyMap<string, CheckedSegment>> {
  const rows = await selectInBatches(fingerprints, (batch) =>
    db
      .selectFrom('segments')
      .select(['fingerprint', ...SEGMENT_COLUMNS])
      .where('fingerprint', 'in', batch),
  )
  return new Map(rows.map(({ fingerprint, ...segment }) => [fingerprint!, segment]))
}

/**
 * Returns the last segments of the repositories that have not changed since, according to the repository index. That may be wrong in both
 * directions; it decides only which repositories the first job examines.
 */
export async function probablyUnchanged(
  db: Db,
  repositoryIds: readonly number[],
): Promise<ReadonlyMap<number, CheckedSegment & Examined>> {
  const rows = await selectInBatches(repositoryIds, (batch) =>
    db
      .selectFrom('segments')
      .innerJoin('repositories', 'repositories.id', 'repository_id')
      .select([
        'repository_id',
        'fingerprint',
        'bytes',
        'segments.change_token as changeToken',
        ...SEGMENT_COLUMNS,
      ])
      .where('repository_id', 'in', batch)
      .whereRef('last_used_at', '>=', 'synced_at')
      .orderBy('last_used_at'),
  )
  return new Map(
    rows.map(({ repository_id, fingerprint, bytes, changeToken, ...segment }) => [
      repository_id!,
      {
        ...segment,
        fingerprint: fingerprint!,
        bytes: bytes ?? 0,
        changeToken: changeToken ?? undefined,
      },
    ]),
  )
}

/** Records the result of a new examination of the repository. */
export async function recordExamination(
  tx: Db,
  key: string,
  { bytes, changeToken = null }: { bytes: number; changeToken?: string | null | undefined },
): Promise<void> {
  await tx
    .updateTable('segments')
    .set({ bytes, change_token: changeToken })
    .where('key', '=', key)
    .execute()
}

/** Returns the column `verified` of the newest segment of a repository. */
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

/** Returns the fingerprints of the undamaged segments of repositories. */
export async function fingerprintsOf(db: Db, repositoryIds: readonly number[]): Promise<string[]> {
  const rows = await db
    .selectFrom('segments')
    .select('fingerprint')
    .where('repository_id', 'in', repositoryIds)
    .where('damaged_at', 'is', null)
    .execute()
  return rows.map(({ fingerprint }) => fingerprint!)
}

/** Inserts a segment. Returns its key, or that of an earlier segment with the same fingerprint, which stays. */
export async function insertSegment(tx: Db, segment: NewSegment, now: number): Promise<string> {
  return (await insertSegments(tx, [segment], now))[0]!
}

/** Inserts segments with different fingerprints. Returns keys as `insertSegment` does, in the order of the segments. */
export async function insertSegments(
  tx: Db,
  segments: readonly NewSegment[],
  now: number,
): Promise<string[]> {
  const rows = await tx
    .insertInto('segments')
    .values(
      // In one order, so that two transactions never wait for each other.
      segments.toSorted(byFingerprint).map((segment) => ({
        key: segment.key,
        length: segment.length,
        plain_length: segment.plainLength,
        crc32: segment.crc32,
        sha256: segment.sha256,
        stored_crc32: segment.storedCrc32,
        fingerprint: segment.fingerprint ?? null,
        repository_id: segment.repositoryId ?? null,
        bytes: segment.bytes ?? null,
        change_token: segment.changeToken ?? null,
        contents: segment.contents ?? null,
        verified: segment.verified ?? null,
        warning: segment.warning ?? null,
        missing_lfs: segment.missingLfs ?? 0,
        created_at: now,
        last_used_at: now,
        checked_at: now,
        damaged_at: null,
      })),
    )
    .onConflict((oc) => oc.column('fingerprint').doUpdateSet({ last_used_at: now }))
    .returning(['key', 'fingerprint'])
    .execute()
  const keys = new Map(rows.map(({ key, fingerprint }) => [fingerprint ?? key, key]))
  return segments.map(({ key, fingerprint }) => keys.get(fingerprint ?? key)!)
}

const byFingerprint = (a: NewSegment, b: NewSegment) =>
  (a.fingerprint ?? '') < (b.fingerprint ?? '') ? -1 : 1

/**
 * Marks segments as used now, which protects them from the sweep. Returns their problems by key. Segments that are not returned
 * were swept before, or are damaged. Sorted, so that two transactions with the same segments cannot deadlock.
 */
export async function markSegmentsUsed(
  tx: Db,
  keys: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, SegmentProblems>> {
  const rows = await selectInBatches(keys.toSorted(), (batch) =>
    tx
      .updateTable('segments')
      .set({ last_used_at: now })
      .where('key', 'in', batch)
      .where('damaged_at', 'is', null)
      .returning(['key', ...PROBLEM_COLUMNS]),
  )
  return new Map(rows.map(({ key, ...problems }) => [key, problems]))
}

export async function segmentsByKey(
  db: Db,
  keys: readonly string[],
): Promise<Map<string, CheckedSegment>> {
  const rows = await selectInBatches(keys, (batch) =>
    db.selectFrom('segments').select(SEGMENT_COLUMNS).where('key', 'in', batch),
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

export type StoredContents = Awaited<ReturnType<typeof openContents>>

/** Opens segments and their contents (JSON). Small contents are cached; large ones are read each time. */
export async function openContents(
  db: Db,
  keys: readonly string[],
  { maxCachedLength = MAX_CACHED_LENGTH, maxCachedBytes = MAX_CACHED_BYTES } = {},
) {
  const segments = new Map<string, CheckedSegment>()
  const cached = new Map<string, string>()
  let bytes = 0
  for (const batch of statementBatches(keys)) {
    const maxLength = bytes < maxCachedBytes ? maxCachedLength : 0
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
      cached.set(segment.key, contents)
      bytes += contents.length
    }
  }
  return {
    segments,
    /** Returns undefined if the segment has no contents. */
    async of<T>(key: string): Promise<T | undefined> {
      const contents = cached.get(key) ?? (await readContents(db, key))
      return contents ? (JSON.parse(contents) as T) : undefined
    },
  }
}
