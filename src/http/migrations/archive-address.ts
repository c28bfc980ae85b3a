import { type BlobStore, isComposing } from '../../blobs/blob-store.ts'
import type { Migration } from '../../migrations/migration.ts'
import { ARCHIVE_TYPE } from './archive-download.ts'
import { type ArchiveLinks, LINK_SECONDS } from './archive-link.ts'

interface AddressParts {
  blobs: BlobStore
  links: ArchiveLinks
  now: () => number
}

/** A link to the archive, good for a few minutes: to the store itself where it has the archive whole, and else to us. */
export async function archiveAddress(
  { blobs, links, now }: AddressParts,
  { guid, archiveKey }: Migration,
): Promise<{ url: string; expiresAt: number }> {
  const expiresAt = now() + LINK_SECONDS * 1000
  if (archiveKey === null || !isComposing(blobs)) return { url: links.sign(guid, now()), expiresAt }
  const url = await blobs.presign(archiveKey, {
    filename: `${guid}.tar.gz`,
    contentType: ARCHIVE_TYPE,
    expiresInSeconds: LINK_SECONDS,
  })
  return { url, expiresAt }
}
