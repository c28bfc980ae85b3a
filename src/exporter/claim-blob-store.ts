import { BlobExists, BlobNotFound, type BlobStore } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { UserError } from '../lib/user-error.ts'
import { signingKey } from '../migrations/secret-store.ts'

/** The store has the blobs of another database: to this one all of them would be what nobody refers to. */
export class StoreOwnedByAnotherDatabase extends UserError {
  override name = 'StoreOwnedByAnotherDatabase'
  constructor(mark: string) {
    super(
      `the archives in --blobs (or in blobs/ of --data) belong to another database, so nothing is removed there: set another --blobs or --data. If that database is gone for good, delete ${mark} there`,
    )
  }
}

/** No other key begins so. */
const MARK = 'owner-'

export const isOwnerMark = (key: string): boolean => key.startsWith(MARK)

/** Makes the store this database's where it is nobody's yet, by an empty blob, and refuses one that is another's. */
export async function claimBlobStore(db: Db, blobs: BlobStore): Promise<void> {
  const mark = await markOf(db)
  // Not asked for by its key: what is missing counts as an error of the store.
  for await (const { key } of blobs.list()) {
    if (key === mark) return
    if (isOwnerMark(key)) throw new StoreOwnedByAnotherDatabase(key)
  }
  await blobs.put(mark, []).catch((error: unknown) => {
    // Another process was quicker.
    if (!(error instanceof BlobExists)) throw error
  })
}

const markOf = async (db: Db): Promise<string> =>
  MARK + (await signingKey(db, 'store')).toString('hex')

/** Whether the store has this database's mark, as it has once anything was swept. A mount that is missing has none. */
export async function isClaimed(db: Db, blobs: BlobStore): Promise<boolean> {
  try {
    await blobs.size(await markOf(db))
    return true
  } catch (error) {
    if (error instanceof BlobNotFound) return false
    throw error
  }
}
