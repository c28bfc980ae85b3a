import { decodeRefs } from '@godwit/git/refs'
import type { ExaminedRepository, Snapshot } from '@godwit/git/snapshot'
import type {
  ManifestFile,
  ManifestGit,
  ManifestRepository,
  ManifestSegment,
} from '../../tar/manifest.ts'
import type { Segment } from '../../tar/write-segment.ts'

/** The content of `schema.json`. */
export const SCHEMA = `${JSON.stringify({ version: '1.0.1' }, null, 2)}\n`

/** Returns the manifest's entry for a segment. */
export const digestsOf = ({
  sha256,
  length,
  plainLength,
  crc32,
}: Omit<Segment, 'storedCrc32'>): ManifestSegment => {
  return { sha256, length, plain_length: plainLength, crc32 }
}

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
