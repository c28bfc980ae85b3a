import { createHash } from 'node:crypto'
import type { ManifestFile, ManifestGit, ManifestRepository } from '../../archive/manifest.ts'
import type { SegmentEntry } from '../../archive/write-segment.ts'
import type { Bytes } from '../../blobs/blob-store.ts'
import { onChunk } from '../../lib/chunks.ts'
import { decodeRefs } from '../../sources/refs.ts'
import type { ExaminedRepository, Snapshot } from '../../sources/snapshot.ts'

/** The manifest's entry for a repository, without its segment. */
export type SegmentContents = Omit<ManifestRepository, 'segment'>

/** Returns what the manifest says about a repository. `files` are those of `recordFileDigests`. */
export function contentsOf(
  { bytes, examination: { location, repository, wiki } }: Pick<Snapshot, 'bytes' | 'examination'>,
  missingLfs: readonly { oid: string; size: number }[],
  files: ManifestFile[],
): SegmentContents {
  return {
    full_name: location.fullName,
    size: bytes,
    ...gitOf(repository),
    wiki: wiki && gitOf(wiki),
    lfs: repository.lfsObjects.map(({ path, size }) => ({ oid: path.split('/').at(-1)!, size })),
    ...(missingLfs.length > 0 && { lfs_missing: [...missingLfs] }),
    files,
  }
}

const gitOf = (found: ExaminedRepository): ManifestGit => ({
  object_format: found.objectFormat,
  ...decodeRefs(found),
})

/** Passes the entries on. When the content of a file has been read, adds its digest to `files`, unless it is an object of git or LFS. */
export async function* recordFileDigests(
  entries: AsyncIterable<SegmentEntry>,
  files: ManifestFile[],
): AsyncGenerator<SegmentEntry> {
  for await (const entry of entries) {
    if (entry.kind === 'directory' || entry.packed) yield entry
    else {
      const { path, size, open } = entry
      const record = (sha256: string) => files.push({ path, size, sha256 })
      yield { ...entry, open: () => hashWhileReading(open(), record) }
    }
  }
}

/** Passes the bytes on and calls `onEnd` with their SHA-256 after the last one. */
function hashWhileReading(bytes: Bytes, onEnd: (sha256: string) => void) {
  const sha256 = createHash('sha256')
  return onChunk(
    bytes,
    (piece) => sha256.update(piece),
    () => onEnd(sha256.digest('hex')),
  )
}
