import type { Db } from '../../src/db/database.ts'
import {
  findById,
  type IndexedRepository,
  listKnown,
} from '../../src/repositories/repository-store.ts'

/** Returns all repositories of the repository index with their metadata, sorted by name. */
export async function listIndex(db: Db): Promise<IndexedRepository[]> {
  const known = await listKnown(db)
  return findById(
    db,
    known.map(({ id }) => id),
  )
}
