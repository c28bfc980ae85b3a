import type { Db } from '../../packages/server/src/db/database.ts'
import {
  findById,
  type IndexedRepository,
  listKnown,
} from '../../packages/server/src/repositories/repository-store.ts'

/** Returns all repositories of the repository index with their metadata, sorted by name. */
export async function listIndex(db: Db): Promise<IndexedRepository[]> {
  const known = await listKnown(db)
  return findById(
    db,
    known.map(({ id }) => id),
  )
}
