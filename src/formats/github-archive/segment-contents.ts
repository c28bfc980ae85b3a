import type { ManifestFile, ManifestGit, ManifestRepository } from '../../archive/manifest.ts'
import { decodeRefs } from '../../sources/refs.ts'
import type { ExaminedRepository, Snapshot } from '../../sources/snapshot.ts'

/** The manifest's entry for a repository, without its segment. */
export type SegmentContents = Omit<ManifestRepository, 'segment'>

/** Returns what the manifest says about a repository. `files` are those of `writeSegment`. */
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
