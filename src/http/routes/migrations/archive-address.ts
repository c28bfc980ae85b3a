import { type BlobStore, isComposing } from '../../../blobs/blob-store.ts'
import type { Db } from '../../../db/database.ts'
import { archiveName } from '../../../lib/archive-name.ts'
import { noLongerReadable } from '../../../migrations/archive-store.ts'
import { damagedIn } from '../../../migrations/damaged-archives.ts'
import { NotFound } from '../../../migrations/errors.ts'
import type { Migration } from '../../../migrations/migration.ts'
import { migrationOwner } from '../../../migrations/migration-store.ts'
import { type RightsRefresher, STORED } from '../../../repositories/refresh-rights.ts'
import { accessLost, archiveDamaged } from '../../middleware/refusals.ts'
import { ARCHIVE_TYPE } from './archive-download.ts'
import type { ArchiveLinks } from './archive-link.ts'

interface AddressParts {
  db: Db
  blobs: BlobStore
  links: ArchiveLinks
  /** Absent where there is no forge to ask. */
  rights?: RightsRefresher | undefined
  now: () => number
}

const MAX_NAMED = 3

/**
 * A link to the archive, good for a while and never for longer than the archive: to the store itself where it has
 * the archive whole, and else to us. None to an archive that holds what its owner may no longer read, nor to one of
 * damaged segments.
 */
export async function archiveAddress(
  { db, blobs, links, rights, now }: AddressParts,
  migration: Migration,
): Promise<{ url: string; expiresAt: number }> {
  const { id, guid, owner, createdAt, archiveKey, archiveExpiresAt } = migration
  const at = now()
  if (archiveExpiresAt === null || archiveExpiresAt <= at) throw new NotFound()
  // As the account is called now: what the forge says of its former login is somebody else's.
  await rights?.refresh((await migrationOwner(db, id))!, STORED)
  const lost = await noLongerReadable(db, migration, MAX_NAMED)
  if (lost.length > 0) throw accessLost(lost)
  const secondsLeft = Math.max(1, Math.floor((archiveExpiresAt - at) / 1000))
  const seconds = Math.min(links.seconds, secondsLeft)
  const expiresAt = at + seconds * 1000
  if (archiveKey === null || !isComposing(blobs)) {
    const damaged = await damagedIn(db, migration)
    if (damaged.length > 0) throw archiveDamaged(damaged)
    return { url: links.sign(guid, at, seconds), expiresAt }
  }
  const url = await blobs.presign(archiveKey, {
    filename: archiveName(id, owner.login, new Date(createdAt)),
    contentType: ARCHIVE_TYPE,
    expiresInSeconds: seconds,
  })
  return { url, expiresAt }
}
