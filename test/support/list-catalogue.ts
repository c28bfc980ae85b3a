import type { Db } from '../../src/db/database.ts'
import {
  type CatalogueEntry,
  findById,
  listKnown,
} from '../../src/repositories/repository-store.ts'

/** Returns all repositories of the catalogue with their facts, sorted by name. */
export async function listCatalogue(db: Db): Promise<CatalogueEntry[]> {
  const known = await listKnown(db)
  return findById(
    db,
    known.map(({ id }) => id),
  )
}
