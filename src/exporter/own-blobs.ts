import { BlobExists, BlobMissing, type BlobStore } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { signingKey } from '../migrations/secret-store.ts'

/** The store has the blobs of another database: to this one all of them would be what nobody refers to. */
export class BlobsOfAnother extends Error {
  override name = 'BlobsOfAnother'
  constructor(mark: string) {
    super(
      `--blobs, or blobs/ in --data, belongs to another database: nothing is removed there. Set another place; if that database is gone for good, remove ${mark} there`,
    )
  }
}

/** No other key begins so. */
const MARK = 'owner-'

export const isMark = (key: string): boolean => key.startsWith(MARK)

/** Makes the store this database's where it is nobody's yet, by an empty blob, and refuses one that is another's. */
export async function ownBlobs(db: Db, blobs: BlobStore): Promise<void> {
  const mark = MARK + (await signingKey(db, 'store')).toString('hex')
  if (await isThere(blobs, mark)) return
  for await (const { key } of blobs.list()) if (isMark(key)) throw new BlobsOfAnother(key)
  await blobs.put(mark, []).catch((error: unknown) => {
    if (!(error instanceof BlobExists)) throw error
  })
}

async function isThere(blobs: BlobStore, key: string): Promise<boolean> {
  try {
    await blobs.size(key)
    return true
  } catch (error) {
    if (error instanceof BlobMissing) return false
    throw error
  }
}
