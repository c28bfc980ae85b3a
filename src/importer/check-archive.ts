import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { ByteReader, gunzip } from '../archive/gunzip.ts'
import { MANIFEST_PATH, type Manifest, parseManifest } from '../archive/manifest.ts'
import { readEntries, textOf } from '../archive/read-entries.ts'
import { ArchiveDamaged, UnreadableArchive } from '../archive/unreadable-archive.ts'
import { compareSegments } from '../formats/compare-manifest.ts'
import type { Bytes } from '../lib/bytes.ts'

/** How an archive was checked: only by its gzip checksum, or also by the digests in its manifest. */
export type CheckMethod = 'gzip' | 'digests'

/**
 * Checks every byte without unpacking and without git: the gzip checksum, and for an archive of Godwit also its tar format and the
 * digest of each repository. Throws ArchiveDamaged.
 */
export async function checkArchive(file: string, signal: AbortSignal): Promise<CheckMethod> {
  const manifest = await findManifest(file, signal)
  if (!manifest) return 'gzip'
  const compared = await compareSegments(file, manifest, signal)
  if ('incomparable' in compared) return 'gzip'
  const [first, ...others] = compared.differing
  if (first === undefined) return 'digests'
  const more = others.length > 0 ? ` and ${others.length} more` : ''
  throw new ArchiveDamaged(`${first}${more}: the bytes differ from the exported ones (SHA-256)`, 0)
}

/** Checks only the gzip checksum of a stream. Throws ArchiveDamaged. */
export async function checkGzip(archive: Bytes, signal: AbortSignal): Promise<void> {
  const gzip = new ByteReader(Readable.from(archive, { highWaterMark: 1, signal }))
  for await (const _ of gunzip(gzip));
}

/** Returns undefined for an archive of another program, of which only the gzip checksum is checked. */
async function findManifest(file: string, signal: AbortSignal): Promise<Manifest | undefined> {
  let found: Manifest | undefined
  try {
    for await (const entry of readEntries(createReadStream(file), { signal }))
      if (entry.path === MANIFEST_PATH) found = parseManifest(await textOf(entry))
  } catch (error) {
    if (found || !(error instanceof UnreadableArchive)) throw error
    await checkGzip(createReadStream(file), signal)
  }
  return found
}
