import { createHash } from 'node:crypto'
import type { ManifestFile, ManifestGit, ManifestRepository } from '../archive/manifest.ts'
import type { SegmentEntry } from '../archive/write-segment.ts'
import type { Bytes } from '../blobs/blob-store.ts'
import { onChunk } from '../lib/on-chunk.ts'
import { statedRefs } from '../sources/refs.ts'
import type { Examination, Found } from '../sources/snapshot.ts'

/** What the manifest says of a repository, apart from its segment. */
export type SegmentContents = Omit<ManifestRepository, 'segment'>

export function contentsOf(
  { place, repository, wiki, bytes }: Examination,
  missingLfs: readonly { oid: string; size: number }[],
  files: ManifestFile[],
): SegmentContents {
  return {
    full_name: place.fullName,
    size: bytes,
    ...gitOf(repository),
    wiki: wiki && gitOf(wiki),
    lfs: repository.lfsObjects.map(({ path, size }) => ({ oid: path.split('/').at(-1)!, size })),
    ...(missingLfs.length > 0 && { lfs_missing: [...missingLfs] }),
    files,
  }
}

/** The same entries; what is no object of git or LFS is noted with its digest while it is written. */
export async function* recordFileDigests(
  entries: AsyncIterable<SegmentEntry>,
  files: ManifestFile[],
): AsyncGenerator<SegmentEntry> {
  for await (const entry of entries) {
    if (entry.kind === 'directory' || entry.packed) yield entry
    else {
      const { path, size, open } = entry
      const note = (sha256: string) => files.push({ path, size, sha256 })
      yield { ...entry, open: () => hashWhileReading(open(), note) }
    }
  }
}

/** The same bytes; their digest is told when all have passed by. */
export function hashWhileReading(bytes: Bytes, onEnd: (sha256: string) => void) {
  const sha256 = createHash('sha256')
  return onChunk(
    bytes,
    (piece) => sha256.update(piece),
    () => onEnd(sha256.digest('hex')),
  )
}

function gitOf(found: Found): ManifestGit {
  return { object_format: found.objectFormat, ...statedRefs(found) }
}
