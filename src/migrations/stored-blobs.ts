import type { Db } from '../db/database.ts'
import { rowsInPages } from '../db/statement-batches.ts'

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
  yield* rowsInPages(PAGE, { key: '' }, ({ key }) =>
    db
      .selectFrom('segments')
      .select(['key', 'length', 'sha256'])
      .where('key', '>', key)
      .orderBy('key'),
  )
  yield* rowsInPages(PAGE, { key: '' }, ({ key }) =>
    db
      .selectFrom('migrations')
      .select(['archive_key as key', 'archive_bytes as length'])
      .where('archive_key', '>', key)
      .orderBy('archive_key')
      .$narrowType<{ key: string; length: number }>(),
  )
}
