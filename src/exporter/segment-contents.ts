import { createHash } from 'node:crypto'
import type { ManifestFile, ManifestGit, ManifestRepository } from '../archive/manifest.ts'
import type { SegmentEntry } from '../archive/write-segment.ts'
import { statedRefs } from '../sources/directory/snapshot/stated-refs.ts'
import type { Examination, Found } from '../sources/source.ts'

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
export async function* notingTexts(
  entries: AsyncIterable<SegmentEntry>,
  files: ManifestFile[],
): AsyncGenerator<SegmentEntry> {
  for await (const entry of entries) {
    if (entry.kind === 'directory' || entry.packed) yield entry
    else yield { ...entry, open: () => digested(entry, files) }
  }
}

async function* digested(
  { path, size, open }: Extract<SegmentEntry, { kind: 'file' }>,
  files: ManifestFile[],
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  for await (const bytes of open()) {
    hash.update(bytes)
    yield bytes
  }
  files.push({ path, size, sha256: hash.digest('hex') })
}

function gitOf(found: Found): ManifestGit {
  const { objectFormat, ...stated } = statedRefs(found)
  return { object_format: objectFormat, ...stated }
}
