import type { ManifestGit, ManifestRepository } from '../archive/manifest.ts'
import { statedRefs } from '../sources/directory/snapshot/stated-refs.ts'
import type { Examination, Found } from '../sources/source.ts'

/** What the manifest says of a repository, apart from its segment. */
export type SegmentContents = Omit<ManifestRepository, 'segment'>

export function contentsOf(
  { place, repository, wiki, bytes }: Examination,
  missingLfs: readonly { oid: string; size: number }[],
): SegmentContents {
  return {
    full_name: place.fullName,
    size: bytes,
    ...gitOf(repository),
    wiki: wiki && gitOf(wiki),
    lfs: repository.lfsObjects.map(({ path, size }) => ({ oid: path.split('/').at(-1)!, size })),
    ...(missingLfs.length > 0 && { lfs_missing: [...missingLfs] }),
  }
}

function gitOf(found: Found): ManifestGit {
  const { objectFormat, ...stated } = statedRefs(found)
  return { object_format: objectFormat, ...stated }
}
