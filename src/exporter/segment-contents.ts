import type { ManifestGit, ManifestRepository } from '../archive/manifest.ts'
import type { Examination, Found } from '../sources/directory/snapshot/examine.ts'
import { readable } from '../sources/directory/snapshot/examine-refs.ts'
import { resolvingSymrefs } from '../sources/directory/snapshot/snapshot-scratch.ts'

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
  return {
    object_format: objectFormat,
    head: 'oid' in head ? head.oid : readable(head.target),
    refs: refs.flatMap((ref) => ('oid' in ref ? [{ ...ref, name: readable(ref.name) }] : [])),
    symrefs: resolvingSymrefs(refs).map(({ name, target }) => ({
      name: readable(name),
      target: readable(target),
    })),
  }
}
