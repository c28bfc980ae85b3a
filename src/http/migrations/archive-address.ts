import { type BlobStore, isComposing } from '../../blobs/blob-store.ts'
import type { Db } from '../../db/database.ts'
import { noLongerReadable } from '../../migrations/archive-store.ts'
import type { Migration } from '../../migrations/migration.ts'
import { accessLost } from '../door/refusals.ts'
import { ARCHIVE_TYPE } from './archive-download.ts'
import { type ArchiveLinks, LINK_SECONDS } from './archive-link.ts'

interface AddressParts {
  db: Db
  blobs: BlobStore
  links: ArchiveLinks
  now: () => number
}

const MOST_NAMED = 3

/**
 * A link to the archive, good for a few minutes: to the store itself where it has the archive whole, and else to us. None
 * to an archive that holds what its owner may no longer read.
 */
export async function archiveAddress(
  { db, blobs, links, now }: AddressParts,
  migration: Migration,
): Promise<{ url: string; expiresAt: number }> {
  const { guid, archiveKey } = migration
  const lost = await noLongerReadable(db, migration, MOST_NAMED)
  if (lost.length > 0) throw accessLost(lost)
  const expiresAt = now() + LINK_SECONDS * 1000
  if (archiveKey === null || !isComposing(blobs)) return { url: links.sign(guid, now()), expiresAt }
  const url = await blobs.presign(archiveKey, {
    filename: `${guid}.tar.gz`,
    contentType: ARCHIVE_TYPE,
    expiresInSeconds: LINK_SECONDS,
  })
  return { url, expiresAt }
}
