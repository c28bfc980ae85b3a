import type { ManifestGit, ManifestRepository } from '../archive/manifest.ts'
import type { Examination, Found } from '../sources/examine.ts'
import { readable } from '../sources/examine-refs.ts'

/** What the manifest says of a repository, apart from its segment. */
export type SegmentContents = Omit<ManifestRepository, 'segment'>

export function contentsOf({ place, repository, wiki, bytes }: Examination): SegmentContents {
  return {
    full_name: place.fullName,
    size: bytes,
    ...gitOf(repository),
    wiki: wiki && gitOf(wiki),
    lfs: repository.lfsObjects.map(({ path, size }) => ({ oid: path.split('/').at(-1)!, size })),
  }
}

function gitOf({ objectFormat, head, refs }: Found): ManifestGit {
  const named = refs.map((ref) => ({ ...ref, name: readable(ref.name) }))
  return {
    object_format: objectFormat,
    head: 'oid' in head ? head.oid : readable(head.target),
    refs: named.flatMap((ref) => ('oid' in ref ? [{ name: ref.name, oid: ref.oid }] : [])),
    symrefs: named.flatMap((ref) =>
      'target' in ref ? [{ name: ref.name, target: readable(ref.target) }] : [],
    ),
  }
}
