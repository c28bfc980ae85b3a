import type { Db } from '../db/database.ts'

/** A blob that the database refers to: a segment, or an archive that was composed in a bucket. */
export interface ReferencedBlob {
  key: string
  length: number
  /** Undefined for a composed archive. */
  sha256?: string
}

const PAGE = 1000

/** Yields all blobs that the database refers to. Each page is one query, so blobs that are added meanwhile may be missing. */
export async function* referencedBlobs(db: Db): AsyncGenerator<ReferencedBlob> {
  yield* pages((after) =>
    db
      .selectFrom('segments')
      .select(['key', 'length', 'sha256'])
      .where('key', '>', after)
      .orderBy('key')
      .limit(PAGE)
      .execute(),
  )
  yield* pages((after) =>
    db
      .selectFrom('migrations')
      .select(['archive_key as key', 'archive_bytes as length'])
      .where('archive_key', '>', after)
      .orderBy('archive_key')
      .limit(PAGE)
      .$narrowType<{ key: string; length: number }>()
      .execute(),
  )
}

async function* pages<T extends { key: string }>(
  query: (after: string) => Promise<T[]>,
): AsyncGenerator<T> {
  for (let after = ''; ; ) {
    const rows = await query(after)
    yield* rows
    if (rows.length < PAGE) return
    after = rows.at(-1)!.key
  }
}
