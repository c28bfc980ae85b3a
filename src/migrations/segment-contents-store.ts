import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { statementBatches } from '../db/statement-batches.ts'
import { type CheckedSegment, RECORD_COLUMNS, segmentOf } from './segment-store.ts'

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
